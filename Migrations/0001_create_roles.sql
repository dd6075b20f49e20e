-- Why: two roles, so that a stolen service password can list nobody's sessions. native_sso_admin owns everything and is
-- what migrations and the command line act as; native_sso_broker is what the service logs in as a member of.
-- Both are without login: the operator makes login roles and grants them one of these two.
-- Locks: none that anybody waits for.  Old code: there is none.
DO $$
BEGIN
    -- Roles belong to the whole cluster: another database's migration may make them in the same moment.
    BEGIN
        CREATE ROLE native_sso_admin NOLOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END;
    BEGIN
        CREATE ROLE native_sso_broker NOLOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END;
    -- What follows needs both to inherit from the role and to become it. Membership is not enough to go by: from
    -- PostgreSQL 16 on whoever made a role without being superuser is a member that can do neither, and may say otherwise.
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
GRANT USAGE ON SCHEMA native_sso TO native_sso_broker;
GRANT SELECT ON native_sso.schema_migration TO native_sso_broker;

-- Nothing that is made here may be run by just anybody.
ALTER DEFAULT PRIVILEGES FOR ROLE native_sso_admin REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
