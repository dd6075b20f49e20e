/// Sessions, groups, devices and grants: implemented by `Registry` on PostgreSQL.
///
/// Both calls decide and write in one statement and return what they saw either way. The two `decide` functions of this
/// target hold the rules; a test holds them equal to the registry.
package protocol GrantRegistry: Sendable {
    /// Records the grant of an exchange if, and only if, every guard holds.
    func admit(_ admission: Admission) async throws(PortError) -> AdmissionFacts

    /// Issues the next generation of a token family if every guard holds; revokes the grant if the token shows misuse.
    func rotate(_ rotation: Rotation) async throws(PortError) -> RotationFacts
}

/// A client's place in a client-sharing group.
package struct Membership: Sendable, Hashable {
    /// Which way a login may travel.
    package enum Role: String, Sendable, CaseIterable {
        /// Its login may be used by others.
        case source
        /// It may use the login of others.
        case target
        case both
    }

    /// The group.
    package let group: GroupID
    /// The client's role in the group.
    package let role: Role
    /// The most that this member gets by an exchange; `nil`: whatever the client may have.
    package let scopeCeiling: Scope?

    package init(group: GroupID, role: Role, scopeCeiling: Scope? = nil) {
        self.group = group
        self.role = role
        self.scopeCeiling = scopeCeiling
    }

    var isSource: Bool { role != .target }
    var isTarget: Bool { role != .source }
}

/// The session row, by the database's clock.
package struct SessionFacts: Sendable, Hashable {
    /// The row of the session.
    package let id: UniqueID
    /// `nil` for a login that ended before it was ever seen here.
    package let subject: Subject?
    /// When the session ended; `nil`: it has not.
    package let endedAt: UnixTime?
    /// The absolute end of the session.
    package let expiresAt: UnixTime
    /// When an exchange or refresh last used the session.
    package let lastUsedAt: UnixTime
    /// Whether the id_token that began it had `auth_time`.
    package let hasAuthTime: Bool
    /// What the ends of earlier sessions of this name, and its own, demand of every id_token: a later `iat`, a later
    /// `auth_time`.
    package let iatAfter: UnixTime?
    /// See ``iatAfter``.
    package let authTimeAfter: UnixTime?

    package init(
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

/// The live or former token family of one client in one session.
package struct GrantFacts: Sendable, Hashable {
    /// The row of the grant.
    package let id: UniqueID
    /// The generation of the current refresh token.
    package let generation: Int32
    /// The absolute end of the grant.
    package let expiresAt: UnixTime

    package init(id: UniqueID, generation: Int32, expiresAt: UnixTime) {
        self.id = id
        self.generation = generation
        self.expiresAt = expiresAt
    }
}

/// How often one login, user, device or client may ask: implemented by `BrokerHTTP`.
///
/// A user, login or device is charged only after the token that names it was verified. So an attacker cannot use up
/// another user's limit.
package protocol UseLimits: Sendable {
    /// Charges an exchange whose id_token is genuine, however old, and whose device value fits it.
    /// - Parameter deviceHash: The claim that names the device.
    func charge(
        exchangeOf idToken: IDTokenClaims, onDevice deviceHash: String, by client: Client
    ) throws(RateLimited)

    /// Charges a genuine id_token that came with another device's value. It does not count against the login: the
    /// honest app presents the right value, and an attacker's guesses must not block it.
    func charge(failureOf idToken: IDTokenClaims) throws(RateLimited)

    /// Whether an enrolment may be tried whose id_token is genuine, fresh and the client's own. Counts nothing: an
    /// attacker with a stolen id_token, whom the broker refuses, must not use up the limit of its user.
    func check(
        enrolmentOf idToken: IDTokenClaims, token: EnrolledTokenDigest, by client: Client
    ) throws(RateLimited)

    /// An enrolment that was recorded.
    func count(enrolmentOf idToken: IDTokenClaims, by client: Client)

    /// A genuine id_token whose enrolment is refused. Charged to that token alone: not even to its user, who may come
    /// with another.
    func charge(failureOf token: EnrolledTokenDigest) throws(RateLimited)

    /// A refresh whose token is one of ours.
    func charge(refreshOf grant: UniqueID, by client: Client) throws(RateLimited)
}

/// Too many requests. Not a refusal, and not an outage: nothing was judged, and the same request is good later.
package struct RateLimited: Error, Sendable, Hashable {
    /// Whose share is used up.
    package enum Limit: Sendable, CaseIterable {
        /// All callers of the public listener.
        case listener
        /// An IPv4 address, or the 64-bit prefix of an IPv6 address.
        case address
        /// The 48-bit prefix of an IPv6 address.
        case network
        case client
        /// Failed authentications of one client from one address.
        case clientFailures
        /// A login, or one app's grant in it.
        case session
        case user
        case device
        /// Device values that do not match their login, and refused enrolments of one id_token.
        case deviceFailures
        /// Codes from one address.
        case code
        /// Logout tokens of one identity provider from one address; unsigned ones from one address.
        case logout
    }

    /// The limit that was reached.
    package let limit: Limit
    /// Until the next request is granted, if no other request comes meanwhile; at least one second.
    package let retryAfter: Seconds

    package init(_ limit: Limit, retryAfter: Seconds) {
        self.limit = limit
        self.retryAfter = retryAfter
    }

    /// Whether a token or the client's authentication was verified before it, so that its number is bounded by theirs.
    package var followsProof: Bool {
        switch limit {
        case .listener, .address, .network, .clientFailures, .code, .logout: false
        case .client, .session, .user, .device, .deviceFailures: true
        }
    }
}
