@testable import native_sso

extension RefusalTests {
    static let databases: [Refusal] = [
        database(
            "postgres://broker@localhost/x",
            "write a URL that begins with postgresql://, such as postgresql://broker@%2Frun%2Fpostgresql/native_sso"),
        database(
            "host=localhost dbname=x",
            "write a URL that begins with postgresql://, such as postgresql://broker@%2Frun%2Fpostgresql/native_sso"),
        database("postgresql://broker:hunter2@localhost/x", withPassword),
        database("postgresql://broker:@localhost/x", withPassword),
        database("postgresql://broker@localhost/x?password=hunter2", withPassword),
        database("postgresql://broker@localhost/x?%70assword=hunter2", withPassword),
        database(
            "postgresql://broker@localhost/x?passfile=/x",
            "must not name a password file; name it as database.password_file"),
        database(
            "postgresql://broker@localhost/x?service=y",
            "must not name a service, which could replace every other setting; write the settings here"),
        database("\"postgresql://broker@localhost/x#y\"", "must not contain a fragment (#)"),
        database(
            "postgresql:///native_sso",
            "must name a host or the directory of a Unix socket, such as %2Frun%2Fpostgresql"),
        database("postgresql://broker@db1/x", unverified),
        database("postgresql://broker@db1/x?sslmode=prefer", unverified),
        database("postgresql://broker@db1/x?sslmode=require", unverified),
        database("postgresql://broker@db1/x?sslmode=verify-ca", unverified),
        database(
            "postgresql://broker@localhost/x?sslmode=verify_full",
            "sslmode must be one of disable, allow, prefer, require, verify-ca, verify-full"),
        database("postgresql://broker@localhost,db2/x", unverified),
        database("postgresql://broker@localhost/x?host=db1", unverified),
        database("postgresql://broker@localhost/x?hostaddr=192.0.2.1", unverified),
        database("postgresql://broker@[2001:db8::1]:5432/x", unverified),
        database(
            "postgresql://broker@db1/x?sslmode=verify-full&sslmode=disable",
            "must not give a query parameter twice"),
        database("postgresql://broker@%zz/x", "has a broken % escape"),
        database("postgresql://broker@localhost/x?sslmode", "has a query parameter that is not name=value"),
        // libpq would read each of these differently, and connect to db2.
        database("postgresql://broker@db2@localhost/x", strayAt),
        database("postgresql://localhost?application_name=@db2/x", strayAt),
        database("postgresql://%2Frun%2Fpostgresql%2Cdb2/x", "must not have an escaped comma (%2C) in a host"),
        database("postgresql://[::1?application_name=],db2/x", brackets),
        database("\"postgresql://[::1]db2/x\"", brackets),
        // libpq would connect with these without a check of the certificate.
        database(
            "postgresql://broker@db2/x?sslmode=verify-full&ssl=true",
            "must not give ssl, which would override sslmode; remove it"),
        database(
            "postgresql://broker@db2/x?sslmode=verify-full&requiressl=0",
            "must not give requiressl, which would override sslmode; remove it"),
    ]

    static let proofs: [Refusal] = [
        .added("dpop: { nonce: yes }", "10: dpop.nonce: write one of required, off"),
        .added("dpop: { nonces: off }", "10: dpop.nonces: is not a key of the configuration; did you mean nonce?"),
        .added(
            "dpop: { nonce: required, nonce_lifetime: 29s }", "10: dpop.nonce_lifetime: must be from 30s to 1h"),
        .added(
            "dpop: { token_endpoint: /token }",
            "10: dpop.token_endpoint: write a URL that begins with https:// and a host"),
        .added(
            "dpop: { token_endpoint: \"https://a.example/token?x\" }",
            "10: dpop.token_endpoint: must not contain a query (?)"),
    ]

    static let durations: [Refusal] = [
        .added("tokens: { access: 300 }", "10: tokens.access: \(duration)"),
        .added("tokens: { access: -5m }", "10: tokens.access: \(duration)"),
        .added("tokens: { access: 5 m }", "10: tokens.access: \(duration)"),
        .added("tokens: { access: 1h30m }", "10: tokens.access: \(duration)"),
        .added("tokens: { access: m }", "10: tokens.access: \(duration)"),
        .added("tokens: { access: 99999999999999999d }", "10: tokens.access: \(duration)"),
        .added("tokens: { access: 9s }", "10: tokens.access: must be from 10s to 1d"),
        .added("tokens: { access: 25h }", "10: tokens.access: must be from 10s to 1d"),
        .added("tokens: { refresh_grace: 11m }", "10: tokens.refresh_grace: must be from 0s to 10m"),
        .added("tokens: { unbound_refresh_grace: 601s }", "10: tokens.unbound_refresh_grace: must be from 0s to 5m"),
        .added("sessions: { idle: 59m }", "10: sessions.idle: must be from 1h to 400d"),
        .added("sessions: { absolute: 401d }", "10: sessions.absolute: must be from 1h to 400d"),
        .added(
            "sessions: { subject_token_max_age: 91d }", "10: sessions.subject_token_max_age: must be from 1m to 90d"),
        .added(
            "sessions: { absolute: 1d, idle: 25h }", "10: sessions.idle: must not be longer than sessions.absolute, 1d"),
        .added("limits: { address: 100 }", "10: limits.address: \(rate)"),
        .added("limits: { address: none }", "10: limits.address: \(rate)"),
        .added("limits: { session: 60/1m/1 }", "10: limits.session: \(rate)"),
        .added("limits: { user: 0/1m }", "10: limits.user: write a whole number from 1 to 1000000"),
        .added("limits: { device: -1/1m }", "10: limits.device: write a whole number from 1 to 1000000"),
        .added("limits: { client: 60/60 }", "10: limits.client: \(duration)"),
        .added("limits: { network: 60/0s }", "10: limits.network: must be from 1s to 1d"),
        .added("limits: { client_failures: 60/25h }", "10: limits.client_failures: must be from 1s to 1d"),
        .added("limits: { address: 60/1m }", "10: limits.address: \(oneAddress)"),
        .added(
            "public: { trusted_proxies: [] }\nlimits: { network: 60/1m }", "11: limits.network: \(oneAddress)"),
        .added("limits: { client_failures: 60/1m }", "10: limits.client_failures: \(oneAddress)"),
        .added(
            "limits: { devices: 60/1m }",
            "10: limits.devices: is not a key of the configuration; did you mean device?"),
    ]

    static let providers: [Refusal] = [
        provider("subject_token_max_age: 91d", "subject_token_max_age: must be from 1m to 90d"),
        provider("first_sight_max_age: 59s", "first_sight_max_age: must be from 1m to 90d"),
        provider("jwks_refresh: 29s", "jwks_refresh: must be from 30s to 1d"),
        provider(
            "hash_mode: sha256",
            "hash_mode: write one of left_half, full_sha256_b64url, full_sha256_hex, full_sha512_hex"),
        provider("enrolment: true", "enrolment: write one of off, exchange"),
        provider(
            "admit_on_firstsight: true",
            "admit_on_firstsight: is not a key of the configuration; did you mean admit_on_first_sight?"),
        provider(
            "logout: { allow_missing_expiry: true }",
            "logout.allow_missing_expiry: is not a key of the configuration; did you mean allow_missing_exp?"),
        provider("logout: { allow_typ_jwt: maybe }", "logout.allow_typ_jwt: write true or false, without quotes"),
        provider("logout: { reach: all }", "logout.reach: write one of session, without-sid, user"),
        provider("logout: { audiences: [\"\"] }", "logout.audiences[0]: write at most 255 printable ASCII characters"),
        provider("discovery: ftp://idp", "discovery: write a URL that begins with https:// and a host"),
        provider(
            "authorization_endpoint: http://idp.example.com/authorize",
            "authorization_endpoint: must begin with https:// (http only for a loopback host, with development: true)"),
        provider("jwks_file: keys.json", "jwks_file: write an absolute path, beginning with /"),
        provider("jwks_file: /nonexistent", "jwks_file: cannot open the file: No such file or directory"),
        provider(
            "jwks_uri: https://a/b\n    discovery: https://a/c",
            "jwks_uri: discovery is given as well, and there is one source of keys; remove one of them"),
        provider("jwks_hosts: [\"a/b\"]", "jwks_hosts[0]: write a host name alone, such as keys.example.com"),
        provider("audience_aliases: [\"\"]", "audience_aliases[0]: write at most 512 printable ASCII characters"),
        provider(
            "audience_aliases: [\"https://idp.example.com\"]",
            "audience_aliases[0]: is already the issuer of identity_providers[0]; each name stands for one issuer"),
        provider(
            "audience_aliases: [\"https://sso.example.com\"]",
            "audience_aliases[0]: is already the issuer of the broker itself; each name stands for one issuer"),
        .provider(
            "https://idp.example.com", "https://sso.example.com",
            "7: identity_providers[0].issuer: is already the issuer of the broker itself; each name stands for one issuer"
        ),
        .provider(
            "[device-secret]", "[device_secret]",
            "8: identity_providers[0].profiles[0]: write one of device-id, device-secret"),
        .provider(
            "[device-secret]", "[]", "8: identity_providers[0].profiles: must name device-secret, device-id or both"),
        .added(
            "  - { issuer: \"https://idp.example.com\", profiles: [device-id], algorithms: [RS256] }",
            "10: identity_providers[1].issuer: is already the issuer of identity_providers[0]; each name stands for one issuer"
        ),
        .added(
            "  - { issuer: \"https://b.example.com\", profiles: [device-id], algorithms: [RS256], subject_prefix: b, audience_aliases: [\"https://idp.example.com\"] }",
            "10: identity_providers[1].audience_aliases[0]: is already the issuer of identity_providers[0]; each name stands for one issuer"
        ),
        .added(
            "audience_aliases: [\"https://idp.example.com\"]",
            "10: audience_aliases[0]: is already the issuer of identity_providers[0]; each name stands for one issuer"),
        .added(
            "audience_aliases: [\"https://sso.example.com\"]",
            "10: audience_aliases[0]: is already the issuer of the broker itself; each name stands for one issuer"),
        .added(
            "    audience_aliases: [\"api://default\"]\naudience_aliases: [\"api://default\"]",
            "10: identity_providers[0].audience_aliases[0]: is already an alias of the broker itself; each name stands for one issuer"
        ),
        provider("subject_prefix: \"\"", "subject_prefix: \(prefix)"),
        provider("subject_prefix: \"a b|\"", "subject_prefix: \(prefix)"),
        provider("subject_prefix: pärtner|", "subject_prefix: \(prefix)"),
        provider("subject_prefix: \(String(repeating: "p", count: 65))", "subject_prefix: \(prefix)"),
        provider("shares_subjects_with: idp", "shares_subjects_with: write a URL that begins with https:// and a host"),
        provider("shares_subjects_with: https://idp.example.com", "shares_subjects_with: \(noTwin)"),
        second("", "subject_prefix: \(unnamed)"),
        second("subject_prefix: b, shares_subjects_with: \"https://idp.example.com\"", "shares_subjects_with: \(both)"),
        second("shares_subjects_with: \"https://idp.example.com/\"", "shares_subjects_with: \(noTwin)"),
        second(
            "subject_prefix: b }\n  - { \(third), subject_prefix: b2", "subject_prefix: \(alike)", line: 11, index: 2),
        second(
            "subject_prefix: b2 }\n  - { \(third), subject_prefix: b", "subject_prefix: \(alike)", line: 11, index: 2),
        second(
            "subject_prefix: b, disabled: true }\n  - { \(third), subject_prefix: b", "subject_prefix: \(alike)",
            line: 11, index: 2),
        second(
            "shares_subjects_with: \"https://idp.example.com\" }\n  - { \(third), "
                + "shares_subjects_with: \"https://b.example.com\"",
            "shares_subjects_with: names one that has shares_subjects_with itself; write https://idp.example.com",
            line: 11, index: 2),
        // A twin of a disabled one is enabled, and has no prefix.
        second(
            "disabled: true }\n  - { \(third), shares_subjects_with: \"https://b.example.com\"",
            "subject_prefix: \(unnamed)", line: 10, index: 1),
        Refusal(
            SampleFile.replacing(
                "  - issuer: https://idp.example.com\n    profiles: [device-secret]\n    algorithms: [RS256]\n",
                with: "  []\n"),
            "6: identity_providers: must list at least one identity provider"),
    ]

    static let others: [Refusal] = [
        .added(
            "log: { level: debug }",
            "10: log.level: debug is for development only; write info, notice, warning, error or critical"),
        .added(
            "log: { level: trace }",
            "10: log.level: trace is for development only; write info, notice, warning, error or critical"),
        .added(
            "log: { level: loud }", "10: log.level: write one of info, notice, warning, error, critical"),
        .added("log: { format: xml }", "10: log.format: write one of json, text"),
        Refusal(
            SampleFile.replacing("/var/lib/native-sso/keys", with: "keys"),
            "5: keys.directory: write an absolute path, beginning with /"),
        keys(
            "replica: \"a b\"",
            "6: keys.replica: is no name: write 1 to 64 printable ASCII characters without spaces"),
        keys("signer: { socket: run/signer }", "6: keys.signer.socket: write an absolute path, beginning with /"),
        keys(
            "signer: { socket: /run/signer }",
            "5: keys.directory: has no effect beside keys.signer, which has the keys; remove one of them"),
        keys("signer: {}", "6: keys.signer.socket: is missing; write it, such as /run/native-sso-signer/socket"),
        keys(
            "pkcs11: { module: /x.so, token: t }",
            "6: keys.pkcs11.pin_file: is missing; write module, token and pin_file"),
    ]

    // MARK: Shapes

    private static let withPassword =
        "must not contain a password; write it to a file and name that as database.password_file"
    private static let prefix = "write 1 to 64 printable ASCII characters without spaces, such as partner|"
    private static let noTwin =
        "is the issuer of no other identity provider; write one as it is in identity_providers"
    private static let unnamed =
        "is missing, and https://idp.example.com has none either, so that two users could have the same sub; write it, such "
        + "as partner|, or shares_subjects_with: https://idp.example.com if both give the same users the same sub"
    private static let both = "belongs to an identity provider without subject_prefix; remove one of them"
    private static let alike =
        "begins like that of https://b.example.com, and one of them holds the other; write another, or "
        + "shares_subjects_with: https://b.example.com if both give the same users the same sub"
    private static let third = "issuer: \"https://c.example.com\", profiles: [device-id], algorithms: [RS256]"
    private static let rate = "write how many in how long, such as 60/1m, or off"
    private static let oneAddress =
        "counts by address, and behind a proxy on this host everybody has the same one; name the proxy in "
        + "public.trusted_proxies, or write off"
    private static let strayAt = "must have no @ but the one before the host; write it as %40"
    private static let brackets = "must have an IPv6 address in [brackets], and nothing but a port after them"
    private static let unverified =
        "on the way to another host sslmode=verify-full is required; add it to the query"

    static func issuer(_ value: String, _ words: String) -> Refusal {
        Refusal(
            SampleFile.replacing("issuer: https://sso.example.com", with: "issuer: \(value)"), "1: issuer: \(words)")
    }

    static func algorithm(_ name: String, _ words: String) -> Refusal {
        .provider("[RS256]", "[\(name)]", "9: identity_providers[0].algorithms[0]: \(words)")
    }

    private static func database(_ url: String, _ words: String) -> Refusal {
        Refusal(
            SampleFile.replacing("postgresql://broker@%2Frun%2Fpostgresql/native_sso", with: url),
            "3: database.url: \(words)")
    }

    /// `keys` with one more line.
    private static func keys(_ line: String, _ words: String) -> Refusal {
        Refusal(
            SampleFile.replacing("/var/lib/native-sso/keys", with: "/var/lib/native-sso/keys\n  \(line)"), words)
    }

    /// A second provider with more keys.
    private static func second(_ keys: String, _ words: String, line: Int = 10, index: Int = 1) -> Refusal {
        let keys = keys.isEmpty ? "" : ", " + keys
        return .added(
            "  - { issuer: \"https://b.example.com\", profiles: [device-id], algorithms: [RS256]\(keys) }",
            "\(line): identity_providers[\(index)].\(words)")
    }

    /// The only provider with one more line.
    private static func provider(_ line: String, _ words: String) -> Refusal {
        .added("    \(line)", "10: identity_providers[0].\(words)")
    }
}
