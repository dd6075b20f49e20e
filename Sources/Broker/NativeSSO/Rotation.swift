/// What a refresh asks of the registry.
public struct Rotation: Sendable {
    public let request: RefreshRequest
    /// The token that was presented; its tag holds.
    public let token: RefreshToken
    public let lifetimes: Lifetimes
    /// What the request named; `nil`: everything that the grant holds.
    public let scope: Scope?

    public init(_ request: RefreshRequest, _ token: RefreshToken, _ lifetimes: Lifetimes) {
        self.request = request
        self.token = token
        self.lifetimes = lifetimes
        scope = ScopeDemand.heeded(request.scope)
    }

    /// The time in which the previous token returns the same successor, where no key binds the token family.
    /// RFC 9449 §5: a confidential client's refresh token is bound by the client's authentication.
    public var grace: Seconds {
        request.client.authentication == .none ? lifetimes.unboundRefreshGrace : lifetimes.refreshGrace
    }

    public var keyUse: KeyUse { KeyUse(of: request.client) }

    /// What a key means to the client that asks.
    public enum KeyUse: Sendable, Hashable {
        /// A bound token family goes on with a proof by its own key only. RFC 9449 §5.
        case fixed
        /// The same with a proof by any key: the client's own authentication binds the token family. RFC 9449 §5.
        case changeable
        /// Proofs are not looked at, so that a bound token family does not go on.
        case off

        init(of client: Client) {
            self =
                if client.proofPolicy == .off {
                    .off
                } else {
                    client.authentication == .none ? .fixed : .changeable
                }
        }
    }
}

/// What the registry saw, and what it did.
public struct RotationFacts: Sendable {
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
    /// Whether the proof was presented before, here or at another replica. Then nothing was written.
    public let proofWasUsed: Bool
    /// The same of the client's assertion.
    public let assertionWasUsed: Bool
    /// `nil`: no grant has this id.
    public let grant: ChainFacts?

    public init(
        now: UnixTime, effect: Effect, proofWasUsed: Bool = false, assertionWasUsed: Bool = false, grant: ChainFacts?
    ) {
        self.now = now
        self.effect = effect
        self.proofWasUsed = proofWasUsed
        self.assertionWasUsed = assertionWasUsed
        self.grant = grant
    }
}

/// A refresh chain as it stood when the token was presented, with all that decides whether it may go on.
public struct ChainFacts: Sendable {
    public let client: ClientID
    /// Before this call advanced it, if it did.
    public let generation: Int32
    /// The last one that an exchange made: with it the chain began anew, and all since were made by refreshes.
    public let exchangedGeneration: Int32
    /// The exchange that bound the family made this generation: earlier tokens have no key. It counts only where ``key`` is set.
    public let keylessBefore: Int32
    /// Whether the presented one is from before the last exchange, and what a refresh made of it was itself presented.
    public let wasSpent: Bool
    public let rotatedAt: UnixTime
    /// Before this call revoked it, if it did.
    public let revokedAt: UnixTime?
    /// Whether that was since its last refreshed token came late, and nothing has shown two holders so far.
    public let cameLate: Bool
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
    /// What the last exchange bound the chain to.
    public let key: KeyThumbprint?

    public init(
        client: ClientID, generation: Int32, exchangedGeneration: Int32, keylessBefore: Int32 = 1,
        wasSpent: Bool = false,
        rotatedAt: UnixTime,
        revokedAt: UnixTime?, cameLate: Bool = false, expiresAt: UnixTime, scope: Scope, audiences: [String],
        sessionID: SessionID,
        session: SessionFacts, login: Login, clientIsEnabled: Bool, sharesLogin: Bool, scopeCeiling: Scope?,
        deviceIsBlocked: Bool,
        key: KeyThumbprint? = nil
    ) {
        self.client = client
        self.generation = generation
        self.exchangedGeneration = exchangedGeneration
        self.keylessBefore = keylessBefore
        self.wasSpent = wasSpent
        self.rotatedAt = rotatedAt
        self.revokedAt = revokedAt
        self.cameLate = cameLate
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
        self.key = key
    }
}
