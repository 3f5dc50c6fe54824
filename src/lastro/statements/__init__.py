"""
Statements as files: CSV, JSON, Parquet, and a page to be printed. Line by line, so that a file may be of any length.
"""

from lastro.statements.files import FORMATS, Format, Writer, writing

__all__ = ["FORMATS", "Format", "Writer", "writing"]
