import NativeSSO

/// A client as a registry file describes it: the settings that it gives.
struct DeclaredClient {
    let id: ClientID
    let place: Place
    private let authentication: Client.Authentication?
    private let section: Section
    private let edits: [(inout Client) -> Void]

    /// The client as the file wants it. A setting that the file does not give stays, and has the default in a new client.
    ///
    /// Reports the rules that it breaks.
    /// - Parameters:
    ///   - old: As it is registered.
    ///   - algorithms: Those of the active keys.
    func client(_ old: Client?, algorithms: Set<KeyAlgorithm>) -> Client {
        var client =
            old
            ?? Client(
                id: id, authentication: authentication ?? .none, allowedScope: .empty, defaultScope: .empty,
                audiences: [])
        if let authentication, authentication != client.authentication {
            section.report(
                "authentication",
                "cannot change from \(client.authentication.rawValue): restore it, or remove the client and add it again"
            )
        }
        for edit in edits { edit(&client) }
        guard client != old else { return client }
        for defect in client.defects { section.report(defect.setting.rawValue, defect.message) }
        if let defect = client.algorithmDefect(algorithms) {
            let keys = ["access_token_algorithm", "id_token_algorithm"]
            section.report(keys.first(where: section.isGiven) ?? keys[0], defect)
        }
        return client
    }

    /// `nil` without a valid client_id.
    init?(reading section: Section) {
        let id: ClientID? = section.required(
            "client_id", .text("an identifier of printable ASCII"), example: "app1", help: "The client_id.",
            RegistryFile.identifier)
        authentication = section.optional(
            "authentication", help: "`none`: an app on a device, which cannot keep a secret. It is permanent.")
        let edits = ClientEdits(section)
        edits.readUse()
        edits.readTokens()
        edits.readDemands()
        Self.refuseSecrets(section)
        guard let id else { return nil }
        self.id = id
        self.section = section
        self.edits = edits.all
        place = section.place(of: "client_id")
    }

    /// A secret would stay in the history of every copy of the file.
    private static func refuseSecrets(_ section: Section) {
        for key in ["client_secret", "secret", "secrets"] where section.isGiven(key) {
            section.refuse(key, "does not belong in a file; remove it and type: native-sso client secret rotate CLIENT")
        }
        for key in ["key", "keys", "jwk", "jwks", "private_key"] where section.isGiven(key) {
            section.refuse(key, "does not belong in a file; remove it and type: native-sso client key add CLIENT FILE")
        }
    }
}

/// Reads the settings of a client. Each becomes a change of one setting.
private final class ClientEdits {
    private(set) var all: [(inout Client) -> Void] = []
    private let section: Section

    init(_ section: Section) { self.section = section }

    private func set<Value>(_ setting: WritableKeyPath<Client, Value>, _ value: Value?) {
        if let value { all.append { $0[keyPath: setting] = value } }
    }

    func readUse() {
        flag(\.isEnabled, "enabled", help: "`false`: the broker refuses all requests of the client.")
        let grants = section.given(
            "grants", .choice(["token-exchange", Client.Grant.refreshToken.rawValue]),
            help: "The grant types that it may use. A new client: both."
        ) { text throws(ValueDefect) in
            guard let grant = Client.Grant(argument: text) else {
                throw ValueDefect("write token-exchange or refresh_token")
            }
            return grant
        }
        set(\.grants, grants.map { Set($0) })
        let allowed = section.given(
            "allowed_scope", .text("a scope"), help: "The largest scope it may receive.", RegistryFile.scopeToken)
        set(\.allowedScope, allowed.map { Scope($0) })
        let standard = section.given(
            "default_scope", .text("a scope"), help: "The scope of a request that names none.", RegistryFile.scopeToken)
        set(\.defaultScope, standard.map { Scope($0) })
        texts(
            \.audiences, "audiences", "a resource server", help: "Resource servers of its access tokens: their `aud`.")
        texts(
            \.introspects, "introspects", "a resource server",
            help: "Resource servers whose access tokens it may introspect. Only a confidential client can.")
    }

    func readTokens() {
        lifetime(
            \.accessTokenLifetime, "access_token_lifetime", Client.accessTokenLifetimes,
            help: "Lifetime of its access tokens. `none`: the configured one.")
        lifetime(
            \.refreshTokenLifetime, "refresh_token_lifetime", Client.refreshTokenLifetimes,
            help: "Absolute lifetime of its refresh tokens. `none`: that of the session.")
        flag(
            \.issuesRefreshToken, "issues_refresh_token",
            help: "Whether an exchange with a device_secret issues a refresh token. A new client: `true`.")
        flag(
            \.issuesIDToken, "issues_id_token", help: "Whether an exchange issues an id_token. A new client: `false`.")
        texts(
            \.copiedClaims, "copied_claims", "a claim",
            help: "Claims of the id_token that its access tokens repeat; at most 8.")
        algorithm(
            \.accessTokenAlgorithm, "access_token_algorithm",
            help: "Algorithm that signs its access tokens. It needs an active key. `none`: the broker's first.")
        algorithm(
            \.idTokenAlgorithm, "id_token_algorithm",
            help: "Algorithm that signs its id_tokens. `none`: that of its access tokens.")
    }

    func readDemands() {
        flag(
            \.allowsSelfExchange, "allows_self_exchange",
            help: "Whether it may exchange its own id_token. A new client: `false`.")
        texts(
            \.acceptedContextClasses, "accepted_acr", "an `acr`",
            help: "Accepted `acr` values of a login, the best first. `[]`: any.")
        lifetime(
            \.maximumAuthenticationAge, "maximum_authentication_age", Client.authenticationAges,
            help: "Greatest age of the login. `none`: any age while the session lives.")
        set(\.proofPolicy, section.optional("dpop", help: "DPoP proofs of this client. A new client: `off`."))
        set(
            \.assertionAudience,
            section.optional(
                "assertion_audience",
                help: "What `aud` of its client assertions may name. `token_endpoint`: also that URL."))
        let lifetimes = Client.assertionLifetimes
        set(
            \.assertionLifetime,
            section.value(
                "assertion_lifetime", .duration(lifetimes), help: "Longest life of its client assertions."
            ) { try DurationText.parse($0, in: lifetimes) })
    }

    private func flag(_ setting: WritableKeyPath<Client, Bool>, _ key: String, help: String) {
        set(setting, section.optionalFlag(key, help: help))
    }

    private func texts(_ setting: WritableKeyPath<Client, [String]>, _ key: String, _ what: String, help: String) {
        set(setting, section.given(key, .text(what), help: help) { $0 })
    }

    private func lifetime(
        _ setting: WritableKeyPath<Client, Seconds?>, _ key: String, _ bounds: ClosedRange<Seconds>, help: String
    ) {
        set(
            setting, section.valueOrNone(key, .duration(bounds), help: help) { try DurationText.parse($0, in: bounds) })
    }

    private func algorithm(_ setting: WritableKeyPath<Client, KeyAlgorithm?>, _ key: String, help: String) {
        set(
            setting,
            section.valueOrNone(key, .choice(KeyAlgorithm.allValueStrings), help: help) { text in
                guard let algorithm = KeyAlgorithm(argument: text) else {
                    throw ValueDefect("write one of \(KeyAlgorithm.allValueStrings.joined(separator: ", "))")
                }
                return algorithm
            })
    }
}

// Keys without a default: `nil` leaves the registered value.
extension Section {
    func optionalFlag(_ key: String, help: String) -> Bool? {
        value(key, .flag, help: help) { text throws(ValueDefect) in
            switch text {
            case "true": true
            case "false": false
            default: throw ValueDefect("write true or false")
            }
        }
    }

    fileprivate func optional<Value: RawRepresentable<String> & CaseIterable>(_ key: String, help: String) -> Value? {
        value(key, .choice(Value.allCases.map(\.rawValue)), help: help) { try Value.parse($0) }
    }

    /// A list, `nil` if it is not given.
    fileprivate func given<Value>(
        _ key: String, _ form: KeyDescription.Form, help: String, _ parse: (String) throws -> Value
    ) -> [Value]? {
        let values = values(key, form, help: help, parse).map(\.value)
        return isGiven(key) ? values : nil
    }
}
