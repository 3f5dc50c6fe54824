"""The admin only reads, goes by the indexes, and never counts everything."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import TestCase
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

import lastro
import lastro.django
from books.models import wanted
from lastro.django.models import Account, Balance, Entry, Movement

ENTRIES = 120


class Reading(TestCase):
    """A ledger with some history, and someone who may look at it."""

    @classmethod
    def setUpTestData(cls) -> None:
        """Open accounts and post."""
        ledger = lastro.django.ledger()
        for name in ("a", "b:1", "b:2", "b_"):
            ledger.open_account(name, "BRL", metadata={"of": name})
        ledger.post_many([wanted(key=f"k/{n}", cause=f"cause {n % 7}", actor="<us>") for n in range(ENTRIES)])
        ledger.post(**wanted(key="späť & <b>", debit="a", credit="b:1", metadata={"x": [1]}, source="here"))
        cls.viewer = User.objects.create_user("viewer", is_staff=True)
        cls.viewer.user_permissions.set(Permission.objects.filter(content_type__app_label="lastro"))
        cls.outsider = User.objects.create_user("outsider", is_staff=True)

    def page(self, url: str, *, status: int = 200, **query: Any) -> str:
        """Ask for a page as the viewer; return its text."""
        self.client.force_login(self.viewer)
        response = self.client.get(url, query)
        self.assertEqual(response.status_code, status)
        return response.content.decode()

    def test_there_are_only_permissions_to_view(self) -> None:
        """Nobody can be given the right to change the books."""
        names = Permission.objects.filter(content_type__app_label="lastro").values_list("codename", flat=True)
        self.assertEqual(sorted(names), ["view_account", "view_balance", "view_entry", "view_movement"])

    def test_accounts(self) -> None:
        """The list is in the order of names, finds by the beginning of a name, and orders by nothing else."""
        url = reverse("admin:lastro_account_changelist")
        text = self.page(url)
        self.assertLess(text.index(">a<"), text.index(">b:1<"))
        self.assertNotIn("Add account", text)
        found = self.page(url, q="b:")
        self.assertIn(">b:2<", found)
        self.assertNotIn(">b_<", found)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            self.page(url, o="-3", metadata__contains="x", status=400)
            self.page(url, o="-3")
        self.assertFalse([q["sql"] for q in queries if 'opened_at" DESC' in q["sql"]])

    def test_an_account(self) -> None:
        """Its page shows the terms and the balance, and takes no changes."""
        account = Account.objects.get(name="b:1", currency="BRL")
        url = reverse("admin:lastro_account_change", args=[account.pk])
        text = self.page(url)
        for shown in ("direct", "open", "Entries", "&quot;b:1&quot;"):
            self.assertIn(shown, text)
        self.assertNotIn('name="_save"', text)
        for action in (
            url,
            reverse("admin:lastro_account_delete", args=[account.pk]),
            reverse("admin:lastro_account_add"),
        ):
            self.assertEqual(self.client.post(action, {"name": "c", "post": "yes"}).status_code, 403)
        self.assertEqual(self.page(reverse("admin:lastro_account_change", args=[12]), status=302), "")

    def test_the_world_is_not_summed(self) -> None:
        """Its balance is the sum of the whole history, and isn't asked for."""
        world = Account.objects.get(name="world", currency="BRL")
        with CaptureQueriesContext(connection) as queries:
            self.page(reverse("admin:lastro_account_change", args=[world.pk]))
        self.assertFalse([q["sql"] for q in queries if '"posted"' in q["sql"] or '"available"' in q["sql"]])

    def test_entries_by_pages(self) -> None:
        """Newest first, a hundred a page, the next page by the last transfer seen; no count at all."""
        account = Account.objects.get(name="a")
        url = reverse("admin:lastro_account_entries", args=[account.pk])
        with CaptureQueriesContext(connection) as queries:
            first = self.page(url)
        self.assertFalse([q["sql"] for q in queries if "COUNT(" in q["sql"]])
        self.assertIn("späť &amp; &lt;b&gt;", first)
        self.assertIn("k/119", first)
        self.assertNotIn(">k/20<", first)
        older = first.split("?before=")[1].split('"')[0]
        rest = self.page(url, before=older)
        self.assertIn(">k/0<", rest)
        self.assertNotIn("?before=", rest)
        self.assertIn("k/119", self.page(url, before="9" * 30))
        self.assertIn("k/119", self.page(url, before="x'"))
        self.assertIn(
            "No entries", self.page(reverse("admin:lastro_account_entries", args=[Account.objects.get(name="b_").pk]))
        )
        self.page(reverse("admin:lastro_account_entries", args=[7]), status=404)

    def test_transfers_are_searched(self) -> None:
        """Nothing without a question; one by its key, several by their cause; no count beyond a thousand."""
        url = reverse("admin:lastro_movement_changelist")
        self.assertIn("0 transfer", self.page(url).replace("movement", "transfer"))
        self.assertIn("k/3", self.page(url, q="k/3"))
        by_cause = self.page(url, q="cause 3")
        for number in range(3, ENTRIES, 7):
            self.assertIn(f">k/{number}<", by_cause)
        self.assertNotIn(">k/4<", by_cause)
        self.assertNotIn(">k/", self.page(url, q="nothing"))
        self.assertNotIn(">k/", self.page(url, q="x" * 500))
        with CaptureQueriesContext(connection) as queries:
            self.page(url, q="cause 3", p=2)
            self.page(reverse("admin:lastro_account_changelist"))
        counts = [q["sql"] for q in queries if "COUNT(*)" in q["sql"] and "books" in q["sql"]]
        self.assertTrue(counts)
        self.assertEqual([sql for sql in counts if "LIMIT 1000" not in sql], [])

    def test_a_transfer(self) -> None:
        """Its page shows all that was posted, whatever its key looks like."""
        text = self.page(reverse("admin:lastro_movement_changelist"), q="späť & <b>")
        url = text.split('<th class="field-movement_key"><a href="')[1].split('"')[0].replace("&amp;", "&")
        shown = self.page(url)
        for value in ("späť &amp; &lt;b&gt;", "here", "&#x27;x&#x27;: [1]"):
            self.assertIn(value, shown)
        self.assertEqual(self.client.post(url, {"kind": "x"}).status_code, 403)

    def test_who_may_not_view_sees_nothing(self) -> None:
        """Without the permission each page is refused, the entries too."""
        self.client.force_login(self.outsider)
        account = Account.objects.get(name="a")
        for url in (
            reverse("admin:lastro_account_changelist"),
            reverse("admin:lastro_account_change", args=[account.pk]),
            reverse("admin:lastro_account_entries", args=[account.pk]),
            reverse("admin:lastro_movement_changelist"),
            reverse("admin:lastro_movement_change", args=["k_2F3"]),
        ):
            self.assertEqual(self.client.get(url).status_code, 403)
        self.client.logout()
        self.assertEqual(self.client.get(reverse("admin:lastro_account_entries", args=[account.pk])).status_code, 302)

    def test_the_models_read(self) -> None:
        """Amounts are ints, moments those that the ledger says, metadata what was posted."""
        transfer = lastro.django.ledger().transfer("späť & <b>")
        assert transfer is not None
        side = Entry.objects.get(account="b:1", currency="BRL")
        balance = Balance.objects.get(account="b:1", currency="BRL")
        movement = Movement.objects.get(cause=None, debit="a")
        aware = [
            timezone.make_aware(moment) if timezone.is_naive(moment) else moment
            for moment in (side.recorded_at, side.occurred_at, movement.recorded_at)
        ]
        self.assertEqual(aware, [transfer.recorded_at, transfer.occurred_at, transfer.recorded_at])
        self.assertEqual(
            (side.amount, side.balance_before, side.balance_after, side.metadata, side.key),
            (5, 0, 5, {"x": [1]}, "späť & <b>"),
        )
        self.assertEqual((balance.posted, balance.held, balance.available, balance.floor), (5, 0, 5, 0))
        self.assertIs(type(balance.posted), int)
        opened = lastro.django.ledger().account("b:1", "BRL").opened_at
        account = Account.objects.get(pk=side.account_id)
        self.assertEqual(account.opened_at.timestamp(), opened.timestamp())
        self.assertEqual(account.metadata, {"of": "b:1"})

    def test_moments_compare(self) -> None:
        """A filter on a moment finds what lies on its side of it, to the microsecond."""
        side = Entry.objects.get(account="b:1")
        microsecond = timedelta(microseconds=1)
        for model, field in ((Entry, "recorded_at"), (Movement, "occurred_at"), (Account, "opened_at")):
            row = model.objects.order_by(field).last()
            assert row is not None
            moment = getattr(row, field)
            self.assertTrue(model.objects.filter(**{field: moment}).exists())
            self.assertFalse(model.objects.filter(**{f"{field}__gt": moment}).exists())
            self.assertTrue(model.objects.filter(**{f"{field}__gt": moment - microsecond}).exists())
            self.assertFalse(model.objects.filter(**{f"{field}__gte": moment + microsecond}).exists())
        self.assertEqual(str(side), "späť & <b> credit")

    def test_the_models_refuse_to_write(self) -> None:
        """Each way to write by a model is refused, with where to post instead."""
        account = Account.objects.get(name="a")
        for call in (
            account.save,
            account.delete,
            lambda: Account.objects.create(id=1, name="x", currency="BRL"),
            lambda: Account.objects.filter(name="a").update(name="x"),
            lambda: Account.objects.all().delete(),
            lambda: Account.objects.bulk_create([account]),
            lambda: Account.objects.bulk_update([account], ["name"]),
            lambda: Account._base_manager.update(name="x"),
            lambda: Account.objects.update_or_create(name="a", defaults={"currency": "X"}),
        ):
            with self.assertRaisesRegex(lastro.InvalidInput, r"lastro\.django\.ledger\(\)"):
                call()
