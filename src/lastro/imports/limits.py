"""
Every limit of reading spreadsheets by name; what passes one is refused, the file or the member that it stands in.
"""

from __future__ import annotations

from typing import Final

MIB: Final = 2**20

# --- an archive and its members ---------------------------------------------------------------------------------------
MEMBERS_MAX: Final = 200
MEMBER_BYTES_MAX: Final = 512 * MIB
ARCHIVE_BYTES_MAX: Final = 2_048 * MIB
# What a member may grow to beside its packed size, once it is past the first bytes (a short text packs very well).
UNPACK_RATIO_MAX: Final = 200
UNPACK_FREE_BYTES: Final = 8 * MIB
MEMBER_NAME_BYTES_MAX: Final = 1_024
NAME_CHARACTERS_MAX: Final = 255

# --- a workbook and its parts -----------------------------------------------------------------------------------------
PARTS_MAX: Final = 5_000
SHEETS_MAX: Final = 500
# A sheet is read in pieces and never held whole; the texts that its cells share are held.
SHEET_BYTES_MAX: Final = 2_048 * MIB
STRINGS_BYTES_MAX: Final = 256 * MIB
STYLES_BYTES_MAX: Final = 32 * MIB
DIRECTORY_BYTES_MAX: Final = 4 * MIB
# Pieces that fit into a processor's cache are read and converted much quicker than large ones.
PIECE_BYTES: Final = 2 * MIB
PIECES_MAX: Final = 4_000
ROW_BYTES_MAX: Final = 32 * MIB
# Of a sheet's XML before its first row, and behind its last one.
HEAD_BYTES_MAX: Final = 4 * MIB
TAIL_BYTES_MAX: Final = 64 * MIB
# Rows without a cell between two rows with some: more of them end a piece, so that nobody makes room for them.
GAP_ROWS_MAX: Final = 1_000
ROWS_MAX: Final = 1_048_576
COLUMNS_MAX: Final = 702
MERGES_MAX: Final = 100_000
XLS_BYTES_MAX: Final = 128 * MIB

# --- cells ------------------------------------------------------------------------------------------------------------
CELL_CHARACTERS_MAX: Final = 32_767
# A number of a spreadsheet is a float: it holds 15 decimal digits, whatever was typed.
FLOAT_DIGITS_MAX: Final = 15
SHOWN_CHARACTERS_MAX: Final = 60

# --- specs ------------------------------------------------------------------------------------------------------------
SPEC_BYTES_MAX: Final = MIB
SPECS_MAX: Final = 20
SPEC_COLUMNS_MAX: Final = 200
HEADERS_MAX: Final = 20
FIELD_CHARACTERS_MAX: Final = 63
TEXT_CHARACTERS_MAX: Final = 255
PLACES_MAX: Final = 12
HEADER_ROW_MAX: Final = 100

# --- reading ----------------------------------------------------------------------------------------------------------
BATCH_ROWS: Final = 2_000
# Different dates and words of one column that are kept with what they became.
KNOWN_VALUES_MAX: Final = 10_000
# Rejected cells that a report names; the file beside it names them all.
REJECTIONS_SHOWN_MAX: Final = 100
PARSERS_MAX: Final = 4
PARSER_MEMORY_BYTES_MAX: Final = 2_048 * MIB
PARSER_S_MAX: Final = 1_800

# --- merging ----------------------------------------------------------------------------------------------------------
# Of a merged sheet: its table is called sheet_ and its name, and names of indexes are longer still.
SHEET_NAME_CHARACTERS_MAX: Final = 40
# How long a merge waits for those before it.
MERGE_LOCK_TIMEOUT_MS: Final = 600_000
# A wait for the lock of merging that goes into the job's log.
MERGE_WAIT_TOLD_MS: Final = 50
# What the server may use for each sort and hash of a merge before it writes to disk.
MERGE_WORK_MIB: Final = 64
# A file that lacks more of its month's rows is refused, unless it may shrink: half of them, or a fifth where those are
# more than some.
SHRINK_PERCENT_MAX: Final = 50
SHRINK_MANY_PERCENT_MAX: Final = 20
SHRINK_ROWS_FREE: Final = 10
# Keys that a file has twice, and rows that another file has: so many are named.
TWICE_SHOWN_MAX: Final = 20
TWICE_ROWS_SHOWN_MAX: Final = 10
# Changes of each sort that a dry run shows.
SAMPLES_MAX: Final = 5
QUARANTINE_BATCH_ROWS: Final = 500

# --- jobs -------------------------------------------------------------------------------------------------------------
PIECE_FILE_BYTES: Final = MIB
PIECES_FETCHED_MAX: Final = 4
COPY_READ_BYTES: Final = 256 * 1024
LEASE_S: Final = 60
LEASE_RENEWED_S: Final = 15
# How often a job is begun before it is given up on: each time its worker died, or the database couldn't.
ATTEMPTS_MAX: Final = 5
ATTEMPT_PAUSE_S: Final = 5
LOOK_EVERY_MS: Final = 20
WAIT_FOR_OTHERS_MS: Final = 200
FILES_LISTED_MAX: Final = 1_000
LOG_LINES_MAX: Final = 1_000
ROWS_LISTED_MAX: Final = 10_000
LOG_LINE_CHARACTERS_MAX: Final = 2_000
