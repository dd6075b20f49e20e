package import NativeSSO
import PostgresClient

extension Administration {
    package func clients() async throws(AdministrationError) -> [Client] {
        try await rows(ClientStatements.all, [], ClientStatements.client)
    }

    /// Registers a client. Secrets and keys of a client that authenticates are added afterwards.
    package func add(_ client: Client, _ act: AdministrativeAct) async throws(AdministrationError) {
        try await change(Self.addition(of: client), act)
    }

    /// Replaces all settings except the authentication method.
    package func update(_ client: Client, _ act: AdministrativeAct) async throws(AdministrationError) {
        try await change(Self.update(of: client), act)
    }

    /// Removes the client, its memberships and its grants.
    package func removeClient(_ id: ClientID, _ act: AdministrativeAct) async throws(AdministrationError) {
        try await change(Self.removal(of: id), act)
    }

    static func addition(of client: Client) -> Change<Void> {
        Change(
            insertClient, parameters(client), as: .clientAdded, details: details(client),
            orElse: .alreadyExists("client \(client.id)"))
    }

    /// - Returns: The client as it was.
    static func update(of client: Client) -> Change<Client> {
        Change(
            updateClient, parameters(client), as: .clientUpdated, details: { details(client, replacing: $0) },
            orElse: .notFound("client \(client.id)"),
            returning: { row throws(PostgresError) in try replaced { try ClientStatements.client(row) } })
    }

    static func removal(of client: ClientID) -> Change<Void> {
        Change(
            deleteClient, [.text(client.string)], as: .clientRemoved, details: [("client_id", client.string)],
            orElse: .notFound("client \(client)"))
    }

    private static let insertClient = Statement(
        """
        INSERT INTO native_sso.client (
            client_id, authentication, enabled, grants, allowed_scope, default_scope, audiences, access_token_seconds,
            refresh_token_seconds, issues_refresh_token, issues_id_token, allows_self_exchange,
            accepted_acr, maximum_authentication_seconds, dpop, copied_claims, assertion_audience,
            assertion_seconds, introspects, access_token_algorithm, id_token_algorithm)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
            $21)
        ON CONFLICT (client_id) DO NOTHING
        RETURNING 1
        """)

    private static let updateClient = Statement(
        """
        WITH old AS (SELECT * FROM native_sso.client WHERE client_id = $1 AND authentication = $2 FOR UPDATE)
        UPDATE native_sso.client SET
            enabled = $3, grants = $4, allowed_scope = $5, default_scope = $6, audiences = $7,
            access_token_seconds = $8, refresh_token_seconds = $9, issues_refresh_token = $10, issues_id_token = $11,
            allows_self_exchange = $12, accepted_acr = $13, maximum_authentication_seconds = $14, dpop = $15,
            copied_claims = $16, assertion_audience = $17, assertion_seconds = $18,
            introspects = $19, access_token_algorithm = $20, id_token_algorithm = $21
        FROM old WHERE client.client_id = old.client_id
        RETURNING old.client_id::text, old.authentication, old.enabled, old.grants, old.allowed_scope::text[],
            old.default_scope::text[], old.audiences, old.access_token_seconds, old.refresh_token_seconds,
            old.issues_refresh_token, old.issues_id_token, old.allows_self_exchange,
            old.accepted_acr, old.maximum_authentication_seconds, old.dpop, old.copied_claims::text[],
            old.assertion_audience, old.assertion_seconds, old.introspects, old.access_token_algorithm,
            old.id_token_algorithm
        """)

    private static let deleteClient = Statement("DELETE FROM native_sso.client WHERE client_id = $1 RETURNING 1")

    private static func parameters(_ client: Client) -> [PostgresValue] {
        [
            .text(client.id.string), .text(client.authentication.rawValue), .bool(client.isEnabled),
            .textArray(client.grants.map(\.rawValue).sorted()), .textArray(client.allowedScope.tokens),
            .textArray(client.defaultScope.tokens), .textArray(client.audiences),
            .optionalInt64(client.accessTokenLifetime?.count), .optionalInt64(client.refreshTokenLifetime?.count),
            .bool(client.issuesRefreshToken), .bool(client.issuesIDToken),
            .bool(client.allowsSelfExchange), .textArray(client.acceptedContextClasses),
            .optionalInt64(client.maximumAuthenticationAge?.count), .text(client.proofPolicy.rawValue),
            .textArray(client.copiedClaims), .text(client.assertionAudience.rawValue),
            .int64(client.assertionLifetime.count),
            .textArray(client.introspects), .optionalText(client.accessTokenAlgorithm?.rawValue),
            .optionalText(client.idTokenAlgorithm?.rawValue),
        ]
    }

    /// All settings of a client, so that the audit shows what the client may do.
    static func details(_ client: Client) -> [(String, String)] {
        [
            ("client_id", client.id.string), ("authentication", client.authentication.rawValue),
            ("enabled", String(client.isEnabled)),
            ("grants", client.grants.map(\.rawValue).sorted().joined(separator: " ")),
            ("allowed_scope", client.allowedScope.description),
            ("default_scope", client.defaultScope.description),
            ("audiences", client.audiences.joined(separator: " ")),
            ("access_token_lifetime", client.accessTokenLifetime?.description ?? "none"),
            ("refresh_token_lifetime", client.refreshTokenLifetime?.description ?? "none"),
            ("issues_refresh_token", String(client.issuesRefreshToken)),
            ("issues_id_token", String(client.issuesIDToken)),
            ("allows_self_exchange", String(client.allowsSelfExchange)),
            ("accepted_acr", client.acceptedContextClasses.joined(separator: " ")),
            ("maximum_authentication_age", client.maximumAuthenticationAge?.description ?? "none"),
            ("dpop", client.proofPolicy.rawValue),
            ("copied_claims", client.copiedClaims.joined(separator: " ")),
            ("assertion_audience", client.assertionAudience.rawValue),
            ("assertion_lifetime", client.assertionLifetime.description),
            ("introspects", client.introspects.joined(separator: " ")),
            ("access_token_algorithm", client.accessTokenAlgorithm?.rawValue ?? "none"),
            ("id_token_algorithm", client.idTokenAlgorithm?.rawValue ?? "none"),
        ]
    }

    /// The same, plus the old value of each changed setting.
    static func details(_ client: Client, replacing old: Client) -> [(String, String)] {
        let (new, before) = (details(client), details(old))
        return new
            + zip(new, before).filter { $0.1 != $1.1 }.map { (new, old) in ("old_\(new.0)", old.1) }
    }

    /// Decodes what a change returned.
    static func replaced<Value>(_ decode: () throws -> Value) throws(PostgresError) -> Value {
        do {
            return try decode()
        } catch {
            throw .unexpectedResult(column: 0)
        }
    }
}

/// A login that the IdP, or an operator for it, reports before an app presents it.
package struct SessionRegistration: Sendable, Hashable {
    package enum Outcome: String, Sendable {
        case registered
        /// The session existed, with the same user.
        case known
        /// The session existed. From now on, a logout with the IdP's issuer and `sid` also ends it.
        case mapped
        /// The session is over: a logout came first, or it expired.
        case ended
        /// The `sid` belongs to another user. Nothing changed.
        case taken
        /// The session is already mapped to another issuer and `sid` of the IdP. Nothing changed.
        case mappedOtherwise = "mapped_otherwise"
    }

    package let issuer: Issuer
    package let sessionID: SessionID
    package let subject: Subject
    package let sourceClient: ClientID?
    package let login: Login
    /// The maximum lifetime, from now.
    package let lifetime: Seconds
    /// The issuer and `sid` of the IdP's logout, if they differ from those above.
    package let providerIssuer: Issuer?
    package let providerSessionID: SessionID?

    package init(
        issuer: Issuer, sessionID: SessionID, subject: Subject, sourceClient: ClientID?, login: Login,
        lifetime: Seconds, providerIssuer: Issuer? = nil, providerSessionID: SessionID? = nil
    ) {
        self.issuer = issuer
        self.sessionID = sessionID
        self.subject = subject
        self.sourceClient = sourceClient
        self.login = login
        self.lifetime = lifetime
        self.providerIssuer = providerIssuer
        self.providerSessionID = providerSessionID
    }
}

extension Administration {
    /// - Returns: The outcome and the session's row id.
    package func register(
        _ session: SessionRegistration, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> (outcome: SessionRegistration.Outcome, id: UniqueID) {
        let authenticatedAt: PostgresValue
        do throws(PortError) {
            authenticatedAt = try .instant(session.login.authenticatedAt)
        } catch {
            throw .refused("auth_time is no instant that a row can hold")
        }
        let answers = try await rows(
            SessionStatements.register,
            [
                .text(session.issuer.string), .bytes(session.sessionID.digest), .text(session.subject.string),
                .optionalText(session.sourceClient?.string), authenticatedAt,
                .optionalText(session.login.contextClass), .textArray(session.login.methods),
                .int64(session.lifetime.count), .optionalText(session.providerIssuer?.string),
                .optionalBytes(session.providerSessionID?.digest), .text(act.actor), .optionalText(act.reason),
                .uuid(act.requestID),
            ]
        ) { row in
            (outcome: try SessionRegistration.Outcome(try row.text(0), "outcome"), id: try row.uniqueID(1))
        }
        guard let answer = answers.first else { throw .corrupt(column: "outcome") }
        return answer
    }
}
