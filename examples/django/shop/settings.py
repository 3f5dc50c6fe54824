"""The settings: SQLite beside the project, or the PostgreSQL at LASTRO_DATABASE_URL."""

import os
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

SECRET_KEY = os.environ.get("SECRET_KEY", "only for trying it out")
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "lastro.django",
    "shop",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
ROOT_URLCONF = "shop.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
STATIC_URL = "static/"

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("SHOP_FILE", Path(__file__).parent.parent / "shop.sqlite3"),
        # A posting writes: with IMMEDIATE the block has the write lock from its beginning.
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"},
    }
}
if url := os.environ.get("LASTRO_DATABASE_URL"):
    parts = conninfo_to_dict(url)
    names = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    DATABASES["default"] = {"ENGINE": "django.db.backends.postgresql"} | {
        name: str(parts.get(part, "")) for part, name in names.items()
    }
LASTRO = {"default": {"DATABASE": "default", "LEDGER": "lastro"}}
