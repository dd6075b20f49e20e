/// Everything that the provider remembers: in memory, gone with the process.
///
/// An actor, so that "is it unused" and "now it is used" are one step.
actor ProviderState {
    let lifetimes: Lifetimes
    var logins: [String: PendingLogin] = [:]
    /// By the value of the browser's cookie.
    var sessions: [String: LoginSession] = [:]
    var codes: [String: IssuedCode] = [:]
    var grants: [String: Grant] = [:]
    var refreshTokens: [String: RefreshToken] = [:]
    var accessTokens: [String: AccessToken] = [:]
    /// The subject whom each device secret was made for.
    var deviceSecrets: [String: String] = [:]
    /// What each user allowed each client.
    var consents: [Consent: Set<String>] = [:]
    /// The newest step whose code each subject used: a code is good once (RFC 6238 §5.2).
    var usedSteps: [String: Int64] = [:]

    struct Consent: Hashable {
        let subject: String
        let clientID: String
    }

    struct RefreshToken {
        let grantID: String
        var isSpent = false
    }

    struct AccessToken {
        let grantID: String
        let scope: [String]
        let expiresAt: Int64
    }

    init(lifetimes: Lifetimes) {
        self.lifetimes = lifetimes
    }

    /// Forgets what expired. Called where something new is remembered, so that memory stays in proportion to what lives.
    func forgetExpired(at now: Int64) {
        logins = logins.filter { now < $0.value.expiresAt }
        sessions = sessions.filter { $0.value.isLive(at: now) }
        accessTokens = accessTokens.filter { now < $0.value.expiresAt }
        grants = grants.filter { now < $0.value.expiresAt }
        refreshTokens = refreshTokens.filter { grants[$0.value.grantID] != nil }
        // A spent code is remembered as long as what came of it: its second use is the sign of a theft.
        codes = codes.filter { _, code in
            if case .spent(let grantID?) = code.status { return grants[grantID] != nil }
            return now < code.expiresAt
        }
    }
}
