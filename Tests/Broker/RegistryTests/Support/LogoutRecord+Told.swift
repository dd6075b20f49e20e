import Glibc
import NativeSSO

@testable import Registry

extension LogoutRecord {
    /// A logout token that the IdP issued now, or at `issuedAt`.
    static func told(
        _ subject: LogoutSubject, _ tokenID: String,
        issuer: Issuer = Issuer(validated: "https://idp.example.com"), issuedAt: UnixTime? = nil,
        cause: LogoutCause = .logoutToken
    ) -> LogoutRecord {
        // The database runs on this machine.
        let now = UnixTime(seconds: Int64(time(nil)))
        return LogoutRecord(
            ProviderSignal(
                cause: cause, issuer: issuer, subject: subject, effectiveAt: issuedAt ?? now, signer: issuer,
                tokenID: tokenID, refusedAfter: now.adding(360)),
            requestID: UniqueID(high: 9, low: 9), milliseconds: now.seconds * 1000)
    }
}

extension PostgresFixture {
    var logouts: PostgresLogoutRegistry { PostgresLogoutRegistry(database: service) }

    /// Ends what a logout token of an IdP names.
    /// - Returns: How many sessions; `nil`: the token was used before.
    func logOut(
        _ subject: LogoutSubject, _ tokenID: String, issuedAt: UnixTime? = nil
    ) async throws -> Int64? {
        try await logouts.end(.told(subject, tokenID, issuedAt: issuedAt))
    }
}
