"""The settings: SQLite beside the project, or the PostgreSQL or MariaDB at LASTRO_DATABASE_URL."""

import os
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

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
url = os.environ.get("LASTRO_DATABASE_URL", "")
if url.startswith("postgresql"):
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(url)
    names = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    DATABASES["default"] = {"ENGINE": "django.db.backends.postgresql"} | {
        name: str(parts.get(part, "")) for part, name in names.items()
    }
elif url.startswith(("mariadb", "mysql")):
    import pymysql

    pymysql.install_as_MySQLdb()
    address = urlsplit(url)
    DATABASES["default"] = {
        "ENGINE": "django.db.backends.mysql",
        "NAME": address.path.lstrip("/"),
        "USER": unquote(address.username or ""),
        "PASSWORD": unquote(address.password or ""),
        "HOST": parse_qs(address.query).get("unix_socket", [address.hostname])[0],
        "PORT": address.port or "",
    }
elif url:
    raise ImproperlyConfigured("LASTRO_DATABASE_URL is to be postgresql://…, mariadb://… or nothing, which is SQLite")
LASTRO = {"default": {"DATABASE": "default", "LEDGER": os.environ.get("LASTRO_LEDGER", "lastro")}}
