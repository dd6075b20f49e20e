import NativeSSO
import PostgresClient

/// `native_sso.refresh`: parameters from a ``Rotation``, ``RotationFacts`` from its answer.
enum RefreshStatement {
    static let statement = Statement(
        """
        SELECT a.* FROM unnest(native_sso.refresh(
            ARRAY[ROW ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)::native_sso.refresh_call],
            CASE WHEN $13::bytea IS NOT NULL OR $15::bytea IS NOT NULL
                THEN ARRAY[ROW (1, $13, $14, $15, $16)::native_sso.shown] END)) AS a
        """, gathering: gathering)

    /// For refreshes without proof and assertion.
    private static let gathering = Gathering(
        "SELECT a.* FROM unnest(native_sso.refresh($1)) AS a", of: "native_sso.refresh_call",
        [.uuid, .uuid, .int4, .text, .textArray, .text, .textArray, .bool, .int8, .int8, .int8, .text])

    /// The grant. A refresh does not name its device. An exchange batch and a refresh batch on the same two devices can
    /// therefore block each other. Then one batch reaches its lock timeout and runs again.
    static func row(_ asked: Rotation) -> RowKey { RowKey(asked.token.grantID.octets) }

    static func parameters(_ asked: Rotation) -> EncodedParameters {
        let request = asked.request
        var parameters = EncodedParameters()
        parameters.append(request.requestID)
        parameters.append(asked.token.grantID)
        parameters.append(asked.token.generation)
        parameters.append(request.client.id.string)
        parameters.append(asked.scope?.tokens)
        parameters.append(request.proof?.key.string)
        parameters.append(request.client.allowedScope.tokens)
        parameters.append(asked.mayChangeKey)
        parameters.append(asked.grace.count)
        parameters.append(asked.lifetimes.refreshGrace.count)
        parameters.append(asked.lifetimes.sessionIdle.count)
        parameters.append(request.resource)
        parameters.append(shown: request.assertion, request.proof)
        return parameters
    }

    static func facts(_ row: Row) throws -> RotationFacts {
        RotationFacts(
            now: try row.instant("seen_at"), effect: try RotationFacts.Effect(try row.text("effect"), "effect"),
            proofWasUsed: try row.bool("proof_used"),
            assertionWasUsed: try row.bool("assertion_used"), grant: try family(row))
    }

    private static func family(_ row: Row) throws -> FamilyFacts? {
        guard let client: ClientID = try row.optionalIdentifier("client") else { return nil }
        return FamilyFacts(
            client: client,
            generation: try row.int32("generation"),
            exchangedGeneration: try row.int32("exchanged_generation"),
            keylessBefore: try row.int32("keyless_before"),
            wasSpent: try row.bool("was_spent"),
            rotatedAt: try row.instant("rotated_at"),
            revokedAt: try row.optionalInstant("revoked_at"),
            cameLate: try row.bool("came_late"),
            expiresAt: try row.instant("grant_expires_at"),
            scope: Scope(try row.textArray("scope")),
            audiences: try row.textArray("audiences"),
            provider: try row.identifier("issuer"),
            session: SessionFacts(
                id: try row.uniqueID("session_id"), subject: try row.optionalIdentifier("subject"),
                endedAt: try row.optionalInstant("ended_at"), expiresAt: try row.instant("expires_at"),
                lastUsedAt: try row.instant("last_used_at")),
            login: Login(
                authenticatedAt: try row.optionalInstant("auth_time"), contextClass: try row.optionalText("acr"),
                methods: try row.textArray("amr")),
            claims: try row.copiedClaims(),
            clientIsEnabled: try row.bool("client_enabled"),
            sharesLogin: try row.bool("shares_login"),
            scopeCeiling: try row.scopeCeiling(),
            deviceIsBlocked: try row.bool("device_blocked"),
            key: try row.optionalIdentifier("jkt"))
    }
}
