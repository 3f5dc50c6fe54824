-- 0004 kinds: which accounts may stand on the sides of a transfer, by its kind.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- What a ledger says of its kinds. A kind that isn't here may stand between any two accounts.
CREATE TABLE lastro.kind (
    name varchar(16) COLLATE "C" NOT NULL,
    debit varchar(340) COLLATE "C" NOT NULL,
    credit varchar(340) COLLATE "C" NOT NULL,
    either_way boolean NOT NULL,
    undone_by varchar(16) COLLATE "C",
    registered_at timestamptz NOT NULL,
    CONSTRAINT kind_once PRIMARY KEY (name),
    CONSTRAINT kind_names_something CHECK (
        length(name) > 0 AND length(debit) > 0 AND length(credit) > 0 AND coalesce(length(undone_by), 1) > 0
    )
);
COMMENT ON COLUMN lastro.kind.debit IS
'The account that may go down: its name, the beginning of names with a * at the end, or * for every account.';

-- It says no, as refuse_change does. The rules come as the trigger's arguments, four a kind, and not from the table: a
-- transaction whose snapshot is older than a registration would not see it there. The trigger itself is made by the
-- first registration, and again by every later one, so that a ledger without kinds has none to pay for.
CREATE FUNCTION lastro.refuse_wrong_side() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    debit text := (SELECT account.name FROM lastro.account AS account WHERE account.id = new.debit_id);
    credit text := (SELECT account.name FROM lastro.account AS account WHERE account.id = new.credit_id);
    from_side text;
    to_side text;
BEGIN
    FOR place IN 0 .. tg_nargs - 4 BY 4 LOOP
        CONTINUE WHEN tg_argv[place] <> new.kind;
        from_side := tg_argv[place + 1];
        to_side := tg_argv[place + 2];
        IF (
            CASE WHEN right(from_side, 1) = '*' THEN starts_with(debit, left(from_side, -1)) ELSE debit = from_side END
            AND CASE WHEN right(to_side, 1) = '*' THEN starts_with(credit, left(to_side, -1)) ELSE credit = to_side END
        ) OR (
            tg_argv[place + 3]::boolean
            AND CASE WHEN right(from_side, 1) = '*' THEN starts_with(credit, left(from_side, -1))
                ELSE credit = from_side END
            AND CASE WHEN right(to_side, 1) = '*' THEN starts_with(debit, left(to_side, -1)) ELSE debit = to_side END
        ) THEN
            RETURN NULL;
        END IF;
        RAISE EXCEPTION 'a transfer of kind "%" goes from "%" to "%", not from "%" to "%"',
            new.kind, from_side, to_side, debit, credit
            USING ERRCODE = '23L01', CONSTRAINT = 'transfer_kind_sides',
                  HINT = 'The table kind says between which accounts each kind may stand.';
    END LOOP;
    RETURN NULL;
END;
$$;
