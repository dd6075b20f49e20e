import ArgumentParser
import NativeSSO
import Registry

/// What can be said of a client. Nothing is said of what is not given: the default of a new client, or what was there.
struct ClientSettings: ParsableArguments {
    @Option(parsing: .upToNextOption, help: "The resource servers its access tokens are for: their `aud`.")
    var audience: [String] = []

    @Option(parsing: .upToNextOption, help: "What it may ask with: token-exchange, refresh_token. A new client: both.")
    var grant: [Client.Grant] = []

    @Option(help: ArgumentHelp("All it may ever be given.", valueName: "\"scope …\""))
    var allowedScope: Scope?

    @Option(help: ArgumentHelp("What it gets when it names no scope.", valueName: "\"scope …\""))
    var defaultScope: Scope?

    @Option(help: ArgumentHelp("Life of its access tokens, from 10s to 24h.", valueName: "5m"))
    var accessTokenLifetime: Seconds?

    @Option(help: ArgumentHelp("Absolute life of its refresh tokens, up to 400d.", valueName: "30d"))
    var refreshTokenLifetime: Seconds?

    @Flag(inversion: .prefixedNo, help: "A refresh token from an exchange with a device_secret.")
    var refreshToken: Bool?

    @Flag(inversion: .prefixedNo, help: "An id_token of ours from an exchange.")
    var idToken: Bool?

    @Flag(inversion: .prefixedNo, help: "`sid` in its access tokens.")
    var sessionID: Bool?

    @Flag(inversion: .prefixedNo, help: "May exchange an id_token that was made for itself.")
    var selfExchange: Bool?

    @Option(parsing: .upToNextOption, help: "`acr` values of a login, any one of which is enough; the best first.")
    var minAcr: [String] = []

    @Flag(help: "Any `acr` is enough.") var noMinAcr = false

    @Option(help: ArgumentHelp("Longest time since the login, up to 400d.", valueName: "12h"))
    var maxAuthAge: Seconds?

    @Flag(help: "A login is enough for as long as its session lives.") var noMaxAuthAge = false

    @Option(help: "Whether it proves possession of a key: off, optional or required. A new client: off.")
    var dpop: Client.ProofPolicy?

    mutating func validate() throws {
        if let accessTokenLifetime, accessTokenLifetime < 10 || accessTokenLifetime > .hours(24) {
            throw ValidationError("--access-token-lifetime is from 10s to 24h.")
        }
        if let refreshTokenLifetime, refreshTokenLifetime > .days(400) {
            throw ValidationError("--refresh-token-lifetime is at most 400d.")
        }
        guard (audience + minAcr).allSatisfy({ Issuer($0) != nil }) else {
            throw ValidationError("--audience and --min-acr take printable ASCII.")
        }
        // `aud` of one resource server is a text, and of several a list.
        guard Set(audience).count == audience.count, Set(minAcr).count == minAcr.count else {
            throw ValidationError("--audience and --min-acr take each value once.")
        }
        guard minAcr.allSatisfy({ !$0.utf8.contains(UInt8(ascii: " ")) }) else {
            throw ValidationError("--min-acr takes values without spaces, one after the other.")
        }
        guard minAcr.isEmpty || !noMinAcr, maxAuthAge == nil || !noMaxAuthAge else {
            throw ValidationError("--no-min-acr and --no-max-auth-age take a demand away: give one or the other.")
        }
        if let maxAuthAge, maxAuthAge < 1 || maxAuthAge > .days(400) {
            throw ValidationError("--max-auth-age is from 1s to 400d.")
        }
        if let defaultScope, let allowedScope, !defaultScope.isSubset(of: allowedScope) {
            throw ValidationError("--default-scope must lie within --allowed-scope.")
        }
    }
}

extension ClientSettings {
    /// A new client with these settings.
    func client(_ id: ClientID, _ authentication: Client.Authentication) -> Client {
        changing(
            Client(
                id: id, authentication: authentication, allowedScope: .empty, defaultScope: .empty, audiences: audience)
        )
    }

    /// `client` with what is given here in place of what was there.
    func changing(_ client: Client) -> Client {
        var changed = client
        changed.grants = grant.isEmpty ? client.grants : Set(grant)
        changed.allowedScope = allowedScope ?? client.allowedScope
        changed.defaultScope = defaultScope ?? client.defaultScope
        changed.audiences = audience.isEmpty ? client.audiences : audience
        changed.accessTokenLifetime = accessTokenLifetime ?? client.accessTokenLifetime
        changed.refreshTokenLifetime = refreshTokenLifetime ?? client.refreshTokenLifetime
        changed.issuesRefreshToken = refreshToken ?? client.issuesRefreshToken
        changed.issuesIDToken = idToken ?? client.issuesIDToken
        changed.includesSessionID = sessionID ?? client.includesSessionID
        changed.allowsSelfExchange = selfExchange ?? client.allowsSelfExchange
        changed.acceptedContextClasses = noMinAcr ? [] : minAcr.isEmpty ? client.acceptedContextClasses : minAcr
        changed.maximumAuthenticationAge = noMaxAuthAge ? nil : maxAuthAge ?? client.maximumAuthenticationAge
        changed.proofPolicy = dpop ?? client.proofPolicy
        return changed
    }
}

extension Client {
    /// The same client, enabled or not.
    func enabled(_ isEnabled: Bool) -> Client {
        var changed = self
        changed.isEnabled = isEnabled
        return changed
    }
    /// Whether it may demand a login that is stronger or newer than the one it is offered.
    var asksForStepUp: Bool { !acceptedContextClasses.isEmpty || maximumAuthenticationAge != nil }

    /// What is doubtful of such a client: after the login that it is sent to, the id_token it holds is its own, and it must be
    /// allowed to bring that one.
    ///
    /// - Parameter groups: All of them. One in which it is not yet says nothing of it.
    func stepUpWarning(_ groups: [SharingGroup]) -> [String] {
        let roles = groups.flatMap(\.members).filter { $0.client == id }.map(\.role)
        guard asksForStepUp, !allowsSelfExchange || !roles.isEmpty && !roles.contains(.both) else { return [] }
        return [
            "warning: \(id): after the login that --min-acr or --max-auth-age sends a user to, the client's own id_token is "
                + "refused; it needs --self-exchange, and the role both in its group"
        ]
    }
}
