"""
Statements as files: CSV, JSON, Parquet, and a page to be printed, line by line, whatever their length.
"""

from lastro.statements.files import FORMATS, Format, Writer, complete, writing

__all__ = ["FORMATS", "Format", "Writer", "complete", "writing"]
