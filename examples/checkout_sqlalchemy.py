"""A checkout with SQLAlchemy's ORM: the session's rows and the money commit together, or neither does."""

from __future__ import annotations

import tempfile

from sqlalchemy import BigInteger, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import lastro
from lastro.embedded import EmbeddedServer


class Row(DeclarativeBase):
    """The application's own tables."""


class Order(Row):
    """An order; its price in cents."""

    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    price: Mapped[int] = mapped_column(BigInteger)


def check_out(ledger: lastro.Ledger, session: Session, order: Order) -> None:
    """Add the order and post its commission; the caller commits."""
    session.add(order)
    session.flush()
    held = ledger.within(session)
    cause = f"order:{order.id}"
    held.post(
        key=f"{cause}:commission", kind="commission", debit="world", credit="platform",
        amount=order.price // 10, currency="BRL", cause=cause,
    )  # fmt: skip
    held.bump("orders")


def main() -> None:
    """Check two orders out; the second one is rolled back."""
    with tempfile.TemporaryDirectory() as folder, EmbeddedServer(f"{folder}/server") as server:
        engine = create_engine(server.url.replace("postgresql:", "postgresql+psycopg:", 1))
        Row.metadata.create_all(engine)
        with lastro.connect(server.url) as ledger:
            ledger.migrate()
            ledger.open_account("platform", "BRL", keeping="hot")
            with Session(engine) as session, session.begin():
                check_out(ledger, session, Order(id=8812, price=5_990))
            with Session(engine) as session:
                check_out(ledger, session, Order(id=8813, price=12_000))
                session.rollback()
            print("orders:", ledger.count("orders"))
            print("platform:", lastro.Money.format(ledger.balance("platform", "BRL").posted, "BRL"))
            print("rolled back:", ledger.transfer("order:8813:commission"))
        engine.dispose()


if __name__ == "__main__":
    main()
