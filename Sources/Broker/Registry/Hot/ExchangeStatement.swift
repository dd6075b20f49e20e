import NativeSSO
package import PostgresClient

/// `native_sso.exchange`: parameters from an ``Admission``, ``AdmissionFacts`` from its answer.
enum ExchangeStatement {
    static let statement = Statement(
        """
        SELECT a.* FROM unnest(native_sso.exchange(
            ARRAY[ROW (
                $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
                $25, $26)::native_sso.exchange_call],
            CASE WHEN $27::bytea IS NOT NULL OR $29::bytea IS NOT NULL
                THEN ARRAY[ROW (1, $27, $28, $29, $30)::native_sso.shown] END)) AS a
        """, gathering: gathering)

    /// For exchanges without proof and assertion.
    private static let gathering = Gathering(
        "SELECT a.* FROM unnest(native_sso.exchange($1)) AS a", of: "native_sso.exchange_call",
        [
            .uuid, .text, .bytea, .text, .text, .textArray, .timestamptz, .text, .textArray, .timestamptz, .text, .bool,
            .bytea, .text, .textArray, .textArray, .text, .bool, .bool, .int8, .int8, .int8, .uuid, .uuid, .text,
            .uuid,
        ])

    /// The device. It represents all locked rows: its sessions and their grants.
    static func row(_ admission: Admission) -> RowKey { RowKey(admission.device.octets) }

    static func parameters(_ admission: Admission) -> EncodedParameters {
        var parameters = call(admission)
        parameters.append(shown: admission.request.assertion, admission.request.proof)
        return parameters
    }

    /// The 26 attributes of `native_sso.exchange_call`.
    static func call(_ admission: Admission) -> EncodedParameters {
        let (request, idToken, checks) = (admission.request, admission.idToken, admission.checks)
        let (client, login) = (request.client, idToken.login)
        var parameters = EncodedParameters(reservingCapacity: 768)
        parameters.append(request.requestID)
        parameters.append(idToken.issuer.string)
        parameters.append(admission.sid)
        parameters.append(idToken.subject.string)
        parameters.append(idToken.sourceClient.string)
        parameters.append(admission.otherAudience.map(\.string))
        parameters.append(login.authenticatedAt)
        parameters.append(login.contextClass)
        parameters.append(login.methods)
        parameters.append(past: idToken.issuedAt)
        parameters.append(client.id.string)
        parameters.append(client.allowsSelfExchange)
        parameters.append(admission.device.octets)
        parameters.append(request.profile.rawValue)
        parameters.append(checks.scope.tokens)
        parameters.append(client.audiences)
        parameters.append(request.proof?.key.string)
        parameters.append(client.isKnownByKey)
        parameters.append(checks.isPermitted)
        parameters.append(checks.idleLimit.count)
        parameters.append(checks.grantLifetime?.count)
        parameters.append(admission.firstSightLifetime?.count)
        parameters.append(admission.proposedGrantID)
        parameters.append(admission.proposedSessionRowID)
        parameters.append(checks.claims.text)
        parameters.append(request.trace)
        return parameters
    }

    static func facts(_ row: Row) throws -> AdmissionFacts {
        AdmissionFacts(
            now: try row.instant("seen_at"),
            clientIsEnabled: try row.bool("client_enabled"),
            source: try row.membership(group: "source_group", role: "source_role", ceiling: nil),
            target: try row.membership(group: "target_group", role: "target_role", ceiling: row.scopeCeiling()),
            otherAudienceInGroup: try row.bool("other_audience_in_group"),
            session: try session(row),
            deviceIsBlocked: try row.bool("device_blocked"),
            boundKey: try row.optionalIdentifier("pinned_jkt"),
            proofWasUsed: try row.bool("proof_used"),
            assertionWasUsed: try row.bool("assertion_used"),
            needsLaterLogin: try row.bool("needs_later_login"),
            accountIsDisabled: try row.bool("account_disabled"),
            tokenIsCovered: try row.bool("token_covered"),
            grant: try row.isNull("grant_id")
                ? nil
                : GrantFacts(
                    id: try row.uniqueID("grant_id"), generation: try row.int32("generation"),
                    expiresAt: try row.instant("grant_expires_at")))
    }

    private static func session(_ row: Row) throws -> SessionFacts? {
        guard try !row.isNull("session_id") else { return nil }
        return SessionFacts(
            id: try row.uniqueID("session_id"), subject: try row.optionalIdentifier("subject"),
            endedAt: try row.optionalInstant("ended_at"), expiresAt: try row.instant("expires_at"),
            lastUsedAt: try row.instant("last_used_at"), hasAuthTime: try row.bool("has_auth_time"),
            iatAfter: try row.optionalInstant("iat_after"), authTimeAfter: try row.optionalInstant("auth_time_after"))
    }
}

extension PostgresConfiguration {
    /// The session settings that `exchange` and `refresh` expect.
    ///
    /// `SET` clauses on the functions would cost a tenth of a refresh in every call. The functions run as the owner of
    /// the tables, so they check `search_path` and refuse any other. The other settings fix the plans: each plan is
    /// made once and must suit an empty table and a large one.
    package func forHotCalls() -> PostgresConfiguration {
        var configuration = self
        configuration.sessionSettings.merge(
            [
                "search_path": "native_sso, pg_temp", "enable_seqscan": "off", "enable_hashjoin": "off",
                "enable_mergejoin": "off", "enable_material": "off", "enable_memoize": "off", "jit": "off",
                "plan_cache_mode": "force_generic_plan",
            ]
        ) { $1 }
        return configuration
    }
}
