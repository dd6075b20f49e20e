public import NativeSSO

// Rows that a check puts into a registry. Spans are relative to the registry's own clock at the moment of `put`, in
// whole seconds, so that a check can stand at the very second of an expiry.

public struct MemberRow: Sendable {
    public var issuer: Issuer
    public var client: ClientID
    public var membership: Membership

    public init(issuer: Issuer, client: ClientID, membership: Membership) {
        self.issuer = issuer
        self.client = client
        self.membership = membership
    }
}

public struct DeviceRow: Sendable {
    public var issuer: Issuer
    public var digest: DeviceDigest
    public var isBlocked: Bool
    /// The keys that clients have shown on it.
    public var pins: [ClientID: KeyThumbprint]

    public init(issuer: Issuer, digest: DeviceDigest, isBlocked: Bool, pins: [ClientID: KeyThumbprint] = [:]) {
        self.pins = pins
        self.issuer = issuer
        self.digest = digest
        self.isBlocked = isBlocked
    }
}

/// A login; the identity provider knows it by the same issuer and `sid`.
public struct SessionRow: Sendable {
    public var id: UniqueID
    public var issuer: Issuer
    public var sid: SessionID
    /// `nil` only where `isEnded`: the logout of a login that was never seen.
    public var subject: Subject?
    public var sourceClient: ClientID
    public var device: DeviceDigest
    public var profile = Profile.deviceID
    public var login = Login()
    /// From now to its absolute end; zero or less: it is over.
    public var expiresIn: Seconds
    /// From its last use to now.
    public var lastUsed: Seconds = 0
    public var isEnded = false
    /// What the ends of this name ask of an id_token. An end that says neither asks for an `auth_time` after now.
    public var iatAfter: UnixTime?
    public var authTimeAfter: UnixTime?

    public init(
        id: UniqueID, issuer: Issuer, sid: SessionID, subject: Subject?, sourceClient: ClientID,
        device: DeviceDigest, expiresIn: Seconds
    ) {
        self.id = id
        self.issuer = issuer
        self.sid = sid
        self.subject = subject
        self.sourceClient = sourceClient
        self.device = device
        self.expiresIn = expiresIn
    }
}

/// The refresh chain of one client in one session.
public struct GrantRow: Sendable {
    public var id: UniqueID
    public var session: UniqueID
    public var client: ClientID
    public var sourceClient: ClientID
    public var device: DeviceDigest
    public var generation: Int32 = 1
    /// The last one that an exchange made; refreshes made those since.
    public var exchangedGeneration: Int32 = 1
    /// The exchange that bound it made this generation.
    public var keylessBefore: Int32 = 1
    /// Of those before the last exchange: what refreshes made of them was presented, too.
    public var spent: [ClosedRange<Int32>] = []
    /// From the last rotation to now.
    public var rotated: Seconds = 0
    public var isRevoked = false
    /// Whether it was revoked because a copy of its token was used.
    public var wasReplayed = false
    /// Whether it was because a token came too late for its lost successor.
    public var cameLate = false
    /// From now to its absolute end.
    public var expiresIn: Seconds
    public var scope: Scope
    public var audiences: [String]
    public var login = Login()
    /// What it is bound to.
    public var key: KeyThumbprint?

    public init(
        id: UniqueID, session: UniqueID, client: ClientID, sourceClient: ClientID, device: DeviceDigest,
        expiresIn: Seconds, scope: Scope, audiences: [String]
    ) {
        self.id = id
        self.session = session
        self.client = client
        self.sourceClient = sourceClient
        self.device = device
        self.expiresIn = expiresIn
        self.scope = scope
        self.audiences = audiences
    }
}

/// How many rows there are of each kind.
public struct RegistryCounts: Sendable, Hashable {
    public var sessions: Int
    public var grants: Int
    public var liveGrants: Int
    public var devices: Int
    public var auditRows: Int
    public var usedProofs: Int

    public init(sessions: Int, grants: Int, liveGrants: Int, devices: Int, auditRows: Int, usedProofs: Int) {
        self.sessions = sessions
        self.grants = grants
        self.liveGrants = liveGrants
        self.devices = devices
        self.auditRows = auditRows
        self.usedProofs = usedProofs
    }
}
