/// Sessions, groups, devices and grants: implemented by `Registry` on PostgreSQL.
///
/// Both calls decide and write in one statement, and always return the facts. The two `decide` functions of this target
/// contain the same rules; a test compares them with the registry.
package protocol GrantRegistry: Sendable {
    /// Records the grant of an exchange only if every guard holds.
    func admit(_ admission: Admission) async throws(PortError) -> AdmissionFacts

    /// Issues the next generation of a token family if every guard holds; revokes the grant if the token shows misuse.
    func rotate(_ rotation: Rotation) async throws(PortError) -> RotationFacts

    /// Notes that no answer with this token could be made: its predecessor stays good until the token is presented.
    /// Changes nothing if the family has moved on.
    func markUnanswered(_ token: RefreshToken) async throws(PortError)
}

/// A client's place in a client-sharing group.
package struct Membership: Sendable, Hashable {
    /// Whose logins a member may use.
    package enum Role: String, Sendable, CaseIterable {
        /// Other members may use its logins.
        case source
        /// It may use the logins of other members.
        case target
        case both
    }

    /// Whether a member may hand a login to the web apps of its group.
    package enum Handoff: String, Sendable, CaseIterable {
        /// Unless it shows a DPoP key: the web app's tokens are not bound to that key.
        case bearer
        /// Also with a DPoP key.
        case dpop
    }

    /// The group.
    package let group: GroupID
    /// The client's role in the group.
    package let role: Role
    /// The largest scope of an exchange by this member; `nil`: the client's allowed scope.
    package let scopeCeiling: Scope?
    /// `nil`: it hands nothing off. Read for hand-offs only.
    package let handoff: Handoff?
    /// The web origins at which the member receives logins; empty: it receives none. Read for hand-offs only.
    package let handoffOrigins: [WebOrigin]

    package init(
        group: GroupID, role: Role, scopeCeiling: Scope? = nil, handoff: Handoff? = nil,
        handoffOrigins: [WebOrigin] = []
    ) {
        self.group = group
        self.role = role
        self.scopeCeiling = scopeCeiling
        self.handoff = handoff
        self.handoffOrigins = handoffOrigins
    }

    var isSource: Bool { role != .target }
    var isTarget: Bool { role != .source }
}

/// The session row, by the database's clock.
package struct SessionFacts: Sendable, Hashable {
    /// The row of the session.
    package let id: UniqueID
    /// `nil` for a session that ended before the broker first saw it.
    package let subject: Subject?
    /// When the session ended; `nil`: it has not.
    package let endedAt: UnixTime?
    /// The absolute end of the session.
    package let expiresAt: UnixTime
    /// When an exchange or refresh last used the session.
    package let lastUsedAt: UnixTime
    /// Whether the id_token that began it had `auth_time`.
    package let hasAuthTime: Bool
    /// Every id_token must have a later `iat` than this, and a later `auth_time` than ``authTimeAfter``. The ends of
    /// this session and of earlier ones with the same `sid` set these limits.
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

/// The rate limits of logins, users, devices and clients: implemented by `BrokerHTTP`.
///
/// A user, login or device is charged only after the token that names it was verified. So an attacker cannot use up
/// another user's limit.
package protocol UseLimits: Sendable {
    /// Charges an exchange with a genuine id_token of any age and its right device value.
    /// - Parameter deviceHash: The claim that names the device.
    func charge(exchangeOf idToken: IDTokenClaims, onDevice deviceHash: String, by client: Client) throws(RateLimited)

    /// Charges a genuine id_token that came with another device's value. It does not count against the login: the
    /// honest app presents the right value, and an attacker's guesses must not block it.
    func charge(failureOf idToken: IDTokenClaims) throws(RateLimited)

    /// Checks the limits before an enrolment with a genuine, fresh id_token of the client's own. Counts nothing: a
    /// refused attacker with a stolen id_token must not use up the limit of its user.
    func check(enrolmentOf idToken: IDTokenClaims, token: EnrolledTokenDigest, by client: Client) throws(RateLimited)

    /// Counts a recorded enrolment.
    func count(enrolmentOf idToken: IDTokenClaims, by client: Client)

    /// Charges the refused enrolment of a genuine id_token to that token alone. Its user may still enrol another one.
    func charge(failureOf token: EnrolledTokenDigest) throws(RateLimited)

    /// Charges a refresh with a genuine refresh token.
    func charge(refreshOf grant: UniqueID, by client: Client) throws(RateLimited)
}

/// Too many requests. It is neither a refusal nor an outage: the same request may succeed later.
package struct RateLimited: Error, Sendable, Hashable {
    /// The limit that was reached.
    package enum Limit: Int, Sendable, CaseIterable {
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
    /// The wait until the next request is admitted, if no other comes first; at least one second.
    package let retryAfter: Seconds

    package init(_ limit: Limit, retryAfter: Seconds) {
        self.limit = limit
        self.retryAfter = retryAfter
    }

    /// Whether a token or the client's authentication is verified first. Such tokens and clients bound its number.
    package var followsProof: Bool {
        switch limit {
        case .listener, .address, .network, .clientFailures, .code, .logout: false
        case .client, .session, .user, .device, .deviceFailures: true
        }
    }
}
