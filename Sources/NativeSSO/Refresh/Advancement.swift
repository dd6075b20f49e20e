/// What a refresh asks of the registry.
public struct Advancement: Sendable {
    public let requestID: UniqueID
    public let grantID: UniqueID
    /// The generation of the token that was presented.
    public let generation: Int32
    public let client: ClientID
    /// What the request named; `nil`: everything that the grant holds.
    public let scope: Scope?
    /// What the client may have today.
    public let allowedScope: Scope
    /// How long a lost answer may be asked for again.
    public let grace: Seconds
    /// Longest time between two uses of the session.
    public let idleLimit: Seconds

    public init(
        requestID: UniqueID, grantID: UniqueID, generation: Int32, client: ClientID, scope: Scope?,
        allowedScope: Scope, grace: Seconds, idleLimit: Seconds
    ) {
        self.requestID = requestID
        self.grantID = grantID
        self.generation = generation
        self.client = client
        self.scope = scope
        self.allowedScope = allowedScope
        self.grace = grace
        self.idleLimit = idleLimit
    }
}

/// What the registry saw, and what it did.
public struct AdvanceFacts: Sendable {
    public enum Effect: String, Sendable, CaseIterable {
        /// Nothing was written.
        case none
        /// The chain went on by one generation.
        case advanced
        /// The chain was revoked, because the token shows that someone else holds a copy.
        case revoked
    }

    public let now: UnixTime
    public let effect: Effect
    /// `nil`: no grant has this id.
    public let grant: ChainFacts?

    public init(now: UnixTime, effect: Effect, grant: ChainFacts?) {
        self.now = now
        self.effect = effect
        self.grant = grant
    }
}

/// A refresh chain as it stood when the token was presented, with all that decides whether it may go on.
public struct ChainFacts: Sendable {
    public let client: ClientID
    /// Before this call advanced it, if it did.
    public let generation: Int32
    public let rotatedAt: UnixTime
    /// Before this call revoked it, if it did.
    public let revokedAt: UnixTime?
    public let expiresAt: UnixTime
    public let scope: Scope
    public let audiences: [String]
    public let sessionID: SessionID
    public let session: SessionFacts
    public let login: Login
    public let clientIsEnabled: Bool
    /// Whether the app and the one whose login it uses still share a group, in that direction.
    public let sharesLogin: Bool
    /// What the app's membership lets it have at most, today; `nil`: no limit.
    public let scopeCeiling: Scope?
    public let deviceIsBlocked: Bool

    public init(
        client: ClientID, generation: Int32, rotatedAt: UnixTime, revokedAt: UnixTime?, expiresAt: UnixTime,
        scope: Scope, audiences: [String], sessionID: SessionID, session: SessionFacts, login: Login,
        clientIsEnabled: Bool, sharesLogin: Bool, scopeCeiling: Scope?, deviceIsBlocked: Bool
    ) {
        self.client = client
        self.generation = generation
        self.rotatedAt = rotatedAt
        self.revokedAt = revokedAt
        self.expiresAt = expiresAt
        self.scope = scope
        self.audiences = audiences
        self.sessionID = sessionID
        self.session = session
        self.login = login
        self.clientIsEnabled = clientIsEnabled
        self.sharesLogin = sharesLogin
        self.scopeCeiling = scopeCeiling
        self.deviceIsBlocked = deviceIsBlocked
    }
}
