-- The roles of the schema, and what the repeatable files need to make their types.
--
-- native_sso_admin owns everything; migrations and the command line act as it. The service logs in as a member of
-- native_sso_broker, which may execute functions and read the registry but no session: a stolen service password lists no
-- logins. native_sso_registrar may register sessions and nothing else. native_sso_support may find and end the sessions of one user or
-- device and nothing else. native_sso_audit may read the audit and nothing else.
-- The five have no login. The operator makes login roles and grants them one of these.
-- Release: 0.1
DO $$
DECLARE
    v_role text;
BEGIN
    FOREACH v_role IN ARRAY
        ARRAY['native_sso_admin', 'native_sso_broker', 'native_sso_registrar', 'native_sso_support', 'native_sso_audit']
    LOOP
        -- Where an administrator has made the roles, the owner needs no CREATEROLE.
        CONTINUE WHEN EXISTS (SELECT FROM pg_roles r WHERE r.rolname = v_role);
        -- Roles belong to the whole cluster: the migration of another database may make them at the same moment.
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
        END;
    END LOOP;
    -- The steps below must inherit from the owner and become it. Since PostgreSQL 16 a role that creates another one is a
    -- member that can do neither until it says so.
    IF NOT pg_has_role(current_user, 'native_sso_admin', 'USAGE')
        OR (CASE WHEN current_setting('server_version_num')::int >= 160000
            THEN NOT pg_has_role(current_user, 'native_sso_admin', 'SET') END)
    THEN
        EXECUTE format('GRANT native_sso_admin TO %I', current_user);
    END IF;
END
$$;

ALTER SCHEMA native_sso OWNER TO native_sso_admin;
ALTER TABLE native_sso.schema_migration OWNER TO native_sso_admin;
GRANT USAGE ON SCHEMA native_sso TO native_sso_broker, native_sso_registrar, native_sso_support, native_sso_audit;
GRANT SELECT ON native_sso.schema_migration TO native_sso_broker;

-- A new function may be executed by its owner alone.
ALTER DEFAULT PRIVILEGES FOR ROLE native_sso_admin REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

COMMENT ON SCHEMA native_sso IS 'Native SSO token-exchange broker: registry, sessions, grants, keys, audit.';
COMMENT ON TABLE schema_migration IS 'The files of Migrations that were applied to this database.';
COMMENT ON COLUMN schema_migration.ordinal IS 'The order in which they were applied.';
COMMENT ON COLUMN schema_migration.version IS 'The number of a numbered file; NULL for a repeatable file, which has a row for each text.';
COMMENT ON COLUMN schema_migration.name IS 'The name of the file, without number and suffix.';
COMMENT ON COLUMN schema_migration.sha256 IS 'SHA-256 of the file as it was applied.';
COMMENT ON COLUMN schema_migration.applied_at IS 'When it was applied.';
COMMENT ON COLUMN schema_migration.applied_by IS 'The login role that applied it.';

-- Makes a composite type for the calls or answers of a function, unless it exists with the same attributes. A repeatable file
-- calls this before its functions. Only a changed shape drops the type, and with it the functions that use it; the file makes
-- those again in the same transaction.
CREATE FUNCTION make_type(p_name text, p_attributes text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF obj_description(to_regtype(p_name), 'pg_type') IS DISTINCT FROM p_attributes THEN
        IF to_regtype(p_name) IS NOT NULL THEN
            EXECUTE format('DROP TYPE %I CASCADE', p_name);
        END IF;
        EXECUTE format('CREATE TYPE %I AS (%s)', p_name, p_attributes);
        EXECUTE format('COMMENT ON TYPE %I IS %L', p_name, p_attributes);
    END IF;
END
$$;
