"""
The books in Django's admin: accounts with their balance and entries, and transfers by key or cause. Nothing is written.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Final

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html

from lastro.django.bound import ledger
from lastro.django.models import Account, Balance, Entry, Movement
from lastro.errors import InvalidInput
from lastro.model.account import WORLD
from lastro.model.limits import BALANCE_MAX

ROWS_A_PAGE: Final = 100
# Pages are counted no further than this: a count of everything would read everything.
ROWS_COUNTED_MAX: Final = 1_000
LAST_CHARACTER: Final = "\U0010ffff"


class BoundedPaginator(Paginator):
    """
    Counts no more than the first thousand rows, along the index that orders them.
    """

    @cached_property
    def count(self) -> int:
        """The number of rows that can be paged through."""
        counted: int = self.object_list[:ROWS_COUNTED_MAX].count()
        return counted


class InOneOrder(ChangeList):
    """
    A list in the order that has an index, whatever the address asks for.
    """

    def get_ordering(self, request: Any, queryset: Any) -> list[str]:
        """Return the model admin's own order."""
        return list(self.model_admin.ordering)


class ReadOnlyAdmin(admin.ModelAdmin):
    """
    Pages for those who may view, without a way to add, change or delete.
    """

    actions = None
    list_per_page = ROWS_A_PAGE
    list_max_show_all = ROWS_A_PAGE
    paginator = BoundedPaginator
    show_full_result_count = False
    sortable_by: ClassVar = ()

    def has_add_permission(self, request: Any, *_: Any) -> bool:
        """Say no."""
        return False

    def has_change_permission(self, request: Any, *_: Any) -> bool:
        """Say no."""
        return False

    def has_delete_permission(self, request: Any, *_: Any) -> bool:
        """Say no."""
        return False

    def lookup_allowed(self, lookup: str, value: str, request: Any = None) -> bool:
        """Say no: a filter typed into the address would read the whole history."""
        return False

    def get_changelist(self, request: Any, **_: Any) -> type[ChangeList]:
        """Return the list that keeps its order."""
        return InOneOrder


@admin.register(Account)
class AccountAdmin(ReadOnlyAdmin):
    """
    Accounts by name; each with its terms, its balance, and the way to its entries.
    """

    list_display = ("name", "currency", "opened_at", "closed_at")
    ordering = ("name", "currency")
    search_fields = ("name",)
    search_help_text = "The beginning of the account's name."
    fields = (
        *("name", "currency", "opened_at", "closed_at", "metadata"),
        *("keeping", "state", "floor", "posted", "held", "available", "entries"),
    )
    readonly_fields = fields

    def get_search_results(self, request: Any, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Return the accounts whose name begins so; a range, which the index over names answers in every store."""
        if search_term:
            queryset = queryset.filter(name__gte=search_term, name__lt=search_term + LAST_CHARACTER)
        return queryset, False

    def get_object(self, request: Any, object_id: str, from_field: str | None = None) -> Any:
        """Return the account with its terms and its balance."""
        account = super().get_object(request, object_id, from_field)
        if account is not None:
            terms = Balance.objects.filter(account_id=account.pk)
            if account.name == WORLD:
                # The sum of everything that ever came in or went out: nobody wants to wait for it.
                terms = terms.defer("posted", "available")
            account.terms = terms.first()
        return account

    def get_urls(self) -> list[Any]:
        """Add an account's entries."""
        entries = self.admin_site.admin_view(self.entries_view)
        return [path("<path:object_id>/entries/", entries, name="lastro_account_entries"), *super().get_urls()]

    def entries_view(self, request: Any, object_id: str) -> TemplateResponse:
        """Show a page of an account's entries, newest first, by the index of its side; `before` leads to older ones."""
        account = super().get_object(request, object_id)
        if not self.has_view_permission(request, account):
            raise PermissionDenied
        if account is None:
            raise Http404
        rows = Entry.objects.filter(account_id=account.pk)
        before = request.GET.get("before", "")
        if before.isdecimal() and int(before) <= BALANCE_MAX:
            rows = rows.filter(transfer_id__lt=int(before))
        page = list(rows.order_by("-transfer_id")[: ROWS_A_PAGE + 1])
        context = {
            **self.admin_site.each_context(request),
            "title": f"Entries of {account}",
            "opts": self.opts,
            "account": account,
            "entries": page[:ROWS_A_PAGE],
            "older": page[ROWS_A_PAGE - 1].transfer_id if len(page) > ROWS_A_PAGE else None,
        }
        return TemplateResponse(request, "admin/lastro/entries.html", context)

    @admin.display(description="keeping")
    def keeping(self, account: Any) -> str:
        """How the balance is kept."""
        return str(account.terms.keeping)

    @admin.display(description="state")
    def state(self, account: Any) -> str:
        """Open, turning or closed."""
        return str(account.terms.state)

    @admin.display(description="floor (minor units)")
    def floor(self, account: Any) -> int | None:
        """What debits may not go below."""
        found: int | None = account.terms.floor
        return found

    @admin.display(description="posted (minor units)")
    def posted(self, account: Any) -> int | None:
        """What is booked; not of the world."""
        return None if account.name == WORLD else int(account.terms.posted)

    @admin.display(description="held (minor units)")
    def held(self, account: Any) -> int:
        """What is set aside."""
        return int(account.terms.held)

    @admin.display(description="available (minor units)")
    def available(self, account: Any) -> int | None:
        """What is free; not of the world."""
        return None if account.name == WORLD else int(account.terms.available)

    @admin.display(description="entries")
    def entries(self, account: Any) -> str:
        """The way to the entries."""
        url = reverse(f"{self.admin_site.name}:lastro_account_entries", args=[account.pk])
        return str(format_html('<a href="{}">Entries</a>', url))


@admin.register(Movement)
class MovementAdmin(ReadOnlyAdmin):
    """
    Transfers, once somebody has said which: by key or by cause. A list of all has no index to be read by.
    """

    list_display = ("movement_key", "kind", "debit", "credit", "amount", "currency", "cause", "recorded_at")
    ordering = ("position",)
    search_fields = ("movement_key", "cause")
    search_help_text = "A transfer's whole key, or a whole cause."
    fields = (
        *("movement_key", "position", "kind", "debit", "credit", "amount", "currency"),
        *("occurred_at", "recorded_at", "cause", "reverses", "source", "actor", "metadata"),
    )
    readonly_fields = fields

    def get_search_results(self, request: Any, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Return the transfer of that key, or those of that cause; none where nothing was asked."""
        if not search_term:
            return queryset.none(), False
        found = _by_key(search_term)
        return (queryset.filter(cause=search_term) if found is None else _rows_of(queryset, found)), False

    def get_object(self, request: Any, object_id: str, from_field: str | None = None) -> Any:
        """Return the transfer named by a key, with what only the history knows of it."""
        found = _by_key(object_id)
        movement = None if found is None else _rows_of(self.get_queryset(request), found).first()
        if movement is not None:
            movement.transfer = found
        return movement

    @admin.display(description="source")
    def source(self, movement: Any) -> str | None:
        """As posted."""
        found: str | None = movement.transfer.source
        return found

    @admin.display(description="actor")
    def actor(self, movement: Any) -> str | None:
        """As posted."""
        found: str | None = movement.transfer.actor
        return found

    @admin.display(description="metadata")
    def metadata(self, movement: Any) -> Any:
        """As posted."""
        return movement.transfer.metadata


def _by_key(key: str) -> Any:
    try:
        # By the table of keys: the views would search all partitions.
        return ledger().transfer(key)
    except InvalidInput:
        return None


def _rows_of(queryset: Any, transfer: Any) -> Any:
    # The account leads to its index of the history, and the position to the one row in that.
    return queryset.filter(debit=transfer.debit, currency=transfer.currency, position=transfer.id)
