public import NativeSSO
import PostgresClient

/// A login of which its identity provider, or somebody for it, tells before any app comes with it.
public struct SessionRegistration: Sendable, Hashable {
    /// What became of it.
    public enum Outcome: String, Sendable {
        case registered
        /// It was there, of the same user.
        case known
        /// It was there, and from now on a logout ends it by the name that was told, too.
        case mapped
        /// It is over: a logout was first, or it expired.
        case ended
        /// The `sid` is another user's; nothing was done.
        case taken
        /// Somebody told another name for the logout before; nothing was done.
        case mappedOtherwise = "mapped_otherwise"
    }

    public let issuer: Issuer
    public let sessionID: SessionID
    public let subject: Subject
    public let sourceClient: ClientID?
    public let login: Login
    /// For how long at most, from now on.
    public let lifetime: Seconds
    /// As the provider's logout will say, where that is not the issuer and `sid` above.
    public let providerIssuer: Issuer?
    public let providerSessionID: SessionID?

    public init(
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
    /// - Returns: What became of it, and the row that the session has.
    public func register(
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
                .text(session.issuer.string), .text(session.sessionID.string), .text(session.subject.string),
                .optionalText(session.sourceClient?.string), authenticatedAt,
                .optionalText(session.login.contextClass), .textArray(session.login.methods),
                .int64(session.lifetime.count), .optionalText(session.providerIssuer?.string),
                .optionalText(session.providerSessionID?.string), .text(act.actor), .optionalText(act.reason),
                .uuid(act.requestID),
            ]
        ) { row in
            guard let outcome = SessionRegistration.Outcome(rawValue: try row.text(0)) else {
                throw CorruptRow(column: "outcome")
            }
            return (outcome: outcome, id: try row.uniqueID(1))
        }
        guard let answer = answers.first else { throw .corrupt(column: "outcome") }
        return answer
    }
}
