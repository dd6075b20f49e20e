package import NativeSSO
import PostgresClient

/// An account that an IdP disabled by a security event (RISC), as shown to an operator.
package struct DisabledAccount: Sendable, Hashable {
    package let issuer: Issuer
    /// `sub` as the IdP writes it.
    package let subject: Subject
    /// When the IdP disabled it, by its own clock.
    package let disabledAt: UnixTime

    /// Its place in the listing.
    package struct Position: Sendable, Hashable {
        package let disabledAt: UnixTime
        package let issuer: Issuer
        package let subject: Subject

        package init(disabledAt: UnixTime, issuer: Issuer, subject: Subject) {
            self.disabledAt = disabledAt
            self.issuer = issuer
            self.subject = subject
        }
    }

    package var position: Position { Position(disabledAt: disabledAt, issuer: issuer, subject: subject) }
}

extension Administration {
    /// Accounts that an IdP disabled and nobody enabled since; the last disabled first.
    /// - Parameters:
    ///   - issuer: `nil`: of every IdP.
    ///   - position: Return only accounts after this one, to continue a listing.
    package func disabledAccounts(
        of issuer: Issuer? = nil, _ subject: Subject? = nil, limit: Int64,
        after position: DisabledAccount.Position? = nil
    ) async throws(AdministrationError) -> [DisabledAccount] {
        try await rows(
            AccountStatements.select,
            [
                .optionalText(issuer?.string), .optionalText(subject?.string), .int64(limit),
                .optionalInt64(position?.disabledAt.seconds), .optionalText(position?.issuer.string),
                .optionalText(position?.subject.string),
            ]
        ) { row in
            DisabledAccount(
                issuer: Issuer(validated: try row.text(0)), subject: Subject(validated: try row.text(1)),
                disabledAt: try row.instant(2))
        }
    }

    /// Enables an account. From the commit on, a later login of the user begins a session. Ended sessions stay ended, and
    /// an `account-disabled` from before the commit that arrives later counts as a logout only.
    package func enable(_ account: DisabledAccount, _ act: AdministrativeAct) async throws(AdministrationError) {
        // The audit names no user: the digest leads to one who is known.
        let enabling = Change(
            AccountStatements.enable, [.text(account.issuer.string), .text(account.subject.string)],
            as: .accountEnabled,
            details: { digest in [("issuer", account.issuer.string), ("sub_sha256", digest)] },
            orElse: .notFound("this account, disabled,"), returning: { row throws(PostgresError) in try row.text(0) })
        try await change(enabling, act)
    }
}

enum AccountStatements {
    // $1 issuer, $2 subject, each NULL: all. $3 limit. After $4 seconds since 1970, $5 issuer and $6 subject; NULL: the first.
    static let select = Statement(
        """
        SELECT idp_issuer, subject, disabled_at FROM native_sso.subject_logout
        WHERE disabled_at IS NOT NULL AND ($1::text IS NULL OR idp_issuer = $1) AND ($2::text IS NULL OR subject = $2)
            AND ($4::bigint IS NULL OR disabled_at < to_timestamp($4)
                OR disabled_at = to_timestamp($4) AND (idp_issuer, subject) > ($5::text, $6::text))
        ORDER BY disabled_at DESC, idp_issuer, subject LIMIT $3
        """)
    // An instant of the IdP may be ahead of this clock.
    static let enable = Statement(
        """
        UPDATE native_sso.subject_logout
        SET disabled_at = NULL, enabled_at = greatest(enabled_at, disabled_at, date_trunc('second', now())),
            recorded_at = date_trunc('second', now())
        WHERE idp_issuer = $1 AND subject = $2 AND disabled_at IS NOT NULL
        RETURNING encode(sha256(convert_to(subject, 'UTF8')), 'hex')
        """)
}
