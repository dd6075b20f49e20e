package import NativeSSO

// Rows that a check puts into a registry. Spans are relative to the registry's own clock at the moment of `put`, in
// whole seconds, so that a check can stand at the very second of an expiry.

package struct MemberRow: Sendable {
    package var issuer: Issuer
    package var client: ClientID
    package var membership: Membership

    package init(issuer: Issuer, client: ClientID, membership: Membership) {
        self.issuer = issuer
        self.client = client
        self.membership = membership
    }
}

package struct DeviceRow: Sendable {
    package var issuer: Issuer
    package var digest: DeviceDigest
    package var isBlocked: Bool
    /// The keys that clients have shown on it.
    package var pins: [ClientID: KeyThumbprint]

    package init(issuer: Issuer, digest: DeviceDigest, isBlocked: Bool, pins: [ClientID: KeyThumbprint] = [:]) {
        self.pins = pins
        self.issuer = issuer
        self.digest = digest
        self.isBlocked = isBlocked
    }
}

/// A login; the identity provider knows it by the same issuer and `sid`.
package struct SessionRow: Sendable {
    package var id: UniqueID
    package var issuer: Issuer
    package var sid: SessionID
    /// `nil` only where `isEnded`: the logout of a login that was never seen.
    package var subject: Subject?
    package var sourceClient: ClientID
    package var device: DeviceDigest
    package var profile = Profile.deviceID
    package var login = Login()
    /// From now to its absolute end; zero or less: it is over.
    package var expiresIn: Seconds
    /// From its last use to now.
    package var lastUsed: Seconds = 0
    package var isEnded = false
    /// What the ends of this name ask of an id_token. An end that says neither asks for an `auth_time` after now.
    package var iatAfter: UnixTime?
    package var authTimeAfter: UnixTime?

    package init(
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

/// The grant of one client in one session.
package struct GrantRow: Sendable {
    package var id: UniqueID
    package var session: UniqueID
    package var client: ClientID
    package var sourceClient: ClientID
    package var device: DeviceDigest
    package var generation: Int32 = 1
    /// The last generation made by an exchange. Refreshes made the later ones.
    package var exchangedGeneration: Int32 = 1
    /// The exchange that bound it made this generation.
    package var keylessBefore: Int32 = 1
    /// Of those before the last exchange: what refreshes made of them was presented, too.
    package var spent: [ClosedRange<Int32>] = []
    /// From the last rotation to now.
    package var rotated: Seconds = 0
    package var isRevoked = false
    /// Whether it was revoked because a copy of its token was used.
    package var wasReplayed = false
    /// Whether it was because a token came too late for its lost successor.
    package var cameLate = false
    /// From now to its absolute end.
    package var expiresIn: Seconds
    package var scope: Scope
    package var audiences: [String]
    package var login = Login()
    package var claims = CopiedClaims()
    /// What it is bound to.
    package var key: KeyThumbprint?

    package init(
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
package struct RegistryCounts: Sendable, Hashable {
    package var sessions: Int
    package var grants: Int
    package var liveGrants: Int
    package var devices: Int
    package var auditRows: Int
    package var usedProofs: Int

    package init(
        sessions: Int = 0, grants: Int = 0, liveGrants: Int = 0, devices: Int = 0, auditRows: Int = 0,
        usedProofs: Int = 0
    ) {
        self.sessions = sessions
        self.grants = grants
        self.liveGrants = liveGrants
        self.devices = devices
        self.auditRows = auditRows
        self.usedProofs = usedProofs
    }
}

/// When brokers counted, in seconds before now.
package struct ServiceHistory: Sendable {
    package struct Gap: Sendable {
        package let began: Int64
        package let ended: Int64
    }

    /// The noted times without a count.
    package var gaps: [Gap] = []
    /// The newest count; `nil`: one is made at each moment.
    package var lastCount: Int64?

    package init(_ gaps: [(began: Int64, ended: Int64)] = [], lastCount: Int64? = nil) {
        self.gaps = gaps.map { Gap(began: $0.began, ended: $0.ended) }
        self.lastCount = lastCount
    }

    /// What a token deserves that comes `grace` seconds or more after its rotation; `.revoked`: no gap helps it.
    /// - Parameter rotated: Seconds before now.
    package func effect(rotated: Int64, grace: Int64) -> RotationFacts.Effect {
        let end = rotated - grace
        var until = end
        for gap in gaps.sorted(by: { $0.began > $1.began }) where gap.ended < rotated {
            guard gap.began > until else { break }
            until = min(until, gap.ended - 120)
        }
        until = max(until, end - 86_400)
        if until < 0 { return .extended }
        return lastCount.map { $0 <= min(6, until) } ?? true ? .revoked : .unsure
    }
}
