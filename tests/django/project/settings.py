"""The settings of the test project: the database that the test names, and a second one of the same kind."""

import json
import os

SECRET_KEY = "only for tests"
ALLOWED_HOSTS = ["testserver"]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "lastro.django",
    "books",
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
ROOT_URLCONF = "urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
USE_TZ = os.environ.get("PROJECT_USE_TZ", "1") == "1"
TIME_ZONE = "America/Sao_Paulo"
DATABASES = json.loads(os.environ["PROJECT_DATABASES"])
if DATABASES["default"]["ENGINE"].endswith("mysql"):
    import pymysql

    pymysql.install_as_MySQLdb()
LASTRO = {
    "default": {"DATABASE": "default", "LEDGER": "books", "LOCK_TIMEOUT_MS": 500},
    "second": {"DATABASE": "other"},
}
