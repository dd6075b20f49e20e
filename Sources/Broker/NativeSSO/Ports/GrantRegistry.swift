/// Sessions, groups, devices and grants: implemented by `Registry` on PostgreSQL.
///
/// Both calls decide and write in one statement and return what they saw either way. The rules of the answer are the
/// two functions `decide` of this room; a test holds rules and registry equal.
public protocol GrantRegistry: Sendable {
    /// Records the grant of an exchange if, and only if, every guard holds.
    func admit(_ admission: Admission) async throws(PortError) -> AdmissionFacts

    /// Issues the next generation of a token family if every guard holds; revokes the grant where the token shows misuse.
    func rotate(_ rotation: Rotation) async throws(PortError) -> RotationFacts
}

/// A client's place in a client-sharing group.
public struct Membership: Sendable, Hashable {
    /// Which way a login may travel.
    public enum Role: String, Sendable, CaseIterable {
        /// Its login may be used by others.
        case source
        /// It may use the login of others.
        case target
        case both
    }

    public let group: GroupID
    public let role: Role
    /// The most that this member gets by an exchange; `nil`: whatever the client may have.
    public let scopeCeiling: Scope?

    public init(group: GroupID, role: Role, scopeCeiling: Scope? = nil) {
        self.group = group
        self.role = role
        self.scopeCeiling = scopeCeiling
    }

    var isSource: Bool { role != .target }
    var isTarget: Bool { role != .source }
}

/// The session row, by the database's clock.
public struct SessionFacts: Sendable, Hashable {
    public let id: UniqueID
    /// `nil` for a login that ended before it was ever seen here.
    public let subject: Subject?
    public let endedAt: UnixTime?
    public let expiresAt: UnixTime
    public let lastUsedAt: UnixTime
    /// Whether the id_token that began it had `auth_time`.
    public let hasAuthTime: Bool
    /// What the ends of earlier sessions of this name, and its own, ask of every id_token: a later `iat`, a later `auth_time`.
    public let iatAfter: UnixTime?
    public let authTimeAfter: UnixTime?

    public init(
        id: UniqueID, subject: Subject?, endedAt: UnixTime?, expiresAt: UnixTime, lastUsedAt: UnixTime,
        hasAuthTime: Bool = false, iatAfter: UnixTime? = nil, authTimeAfter: UnixTime? = nil
    ) {
        self.id = id
        self.subject = subject
        self.endedAt = endedAt
        self.expiresAt = expiresAt
        self.lastUsedAt = lastUsedAt
        self.hasAuthTime = hasAuthTime
        self.iatAfter = iatAfter
        self.authTimeAfter = authTimeAfter
    }
}

/// The live or former refresh chain of one client in one session.
public struct GrantFacts: Sendable, Hashable {
    public let id: UniqueID
    public let generation: Int32
    public let expiresAt: UnixTime

    public init(id: UniqueID, generation: Int32, expiresAt: UnixTime) {
        self.id = id
        self.generation = generation
        self.expiresAt = expiresAt
    }
}
