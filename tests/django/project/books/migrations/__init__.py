"""The application's migrations."""
