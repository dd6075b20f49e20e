package import BrokerTesting

/// What the configuration file of a broker says. The only writer of such files outside the broker's own tests.
package struct BrokerConfiguration: Sendable {
    package struct Provider: Sendable {
        package var issuer: String
        /// Where the broker gets its keys.
        package var keys: Keys
        package var profiles: [String]
        package var algorithms: [String]
        package var admitsOnFirstSight: Bool
        package var isDisabled: Bool
        package var enrolsByExchange = false
        /// How it computes `ds_hash`.
        package var hashMode = "left_half"
        /// What is allowed of its logout tokens, by the names of the configuration.
        package var logout: [String] = []
        /// Sections about its security events, such as `security_events: {}`.
        package var events: [String] = []
        /// `code_relay` as a flow mapping, such as `{ timeout: 2s }`; `nil`: none.
        package var codeRelay: String?
        /// By default every provider but the first has a prefix of its own, as a broker demands it; empty: none.
        package var subjectPrefix: String?
        /// The issuer whose prefix it has.
        package var sharesSubjectsWith: String?

        package enum Keys: Sendable {
            case discovery
            case jwks(String)
            /// A file with these, beside the configuration: `key-set.json`.
            case file([TestKey])
        }

        package init(
            _ issuer: String, keys: Keys = .discovery, profiles: [String] = ["device-id", "device-secret"],
            algorithms: [String] = ["ES256", "RS256"], admitsOnFirstSight: Bool = true, isDisabled: Bool = false
        ) {
            self.issuer = issuer
            self.keys = keys
            self.profiles = profiles
            self.algorithms = algorithms
            self.admitsOnFirstSight = admitsOnFirstSight
            self.isDisabled = isDisabled
        }

        /// - Parameters:
        ///   - keySet: Where the file with its keys lies, if it has one.
        ///   - place: Among the providers of the broker, from 0.
        fileprivate func yaml(keySet: String, place: Int) -> String {
            let prefix = subjectPrefix ?? (place == 0 || sharesSubjectsWith != nil ? "" : "idp-\(place)|")
            let source =
                switch keys {
                // The default, OpenID Connect Discovery §4: an issuer's last slash is not doubled.
                case .discovery: ""
                case .jwks(let address): "jwks_uri: \(address)"
                case .file: "jwks_file: \(keySet)"
                }
            return """
                  - issuer: \(issuer)
                    \(source)
                    profiles: [\(profiles.joined(separator: ", "))]
                    algorithms: [\(algorithms.joined(separator: ", "))]
                    hash_mode: \(hashMode)
                    admit_on_first_sight: \(admitsOnFirstSight)
                    disabled: \(isDisabled)
                    enrolment: \(enrolsByExchange ? "exchange" : "off")
                    logout: { \(logout.map { "\($0): true" }.joined(separator: ", ")) }
                \(events.map { "    \($0)" }.joined(separator: "\n"))
                \(codeRelay.map { "    code_relay: \($0)" } ?? "")
                \(prefix.isEmpty ? "" : "    subject_prefix: \"\(prefix)\"")
                \(sharesSubjectsWith.map { "    shares_subjects_with: \($0)" } ?? "")
                """
        }
    }

    package var issuer: String
    package var providers: [Provider]
    /// For how long a public client may ask again for a lost answer, in seconds.
    package var unboundRefreshGrace = 10
    /// The lifetime of an access token, in seconds.
    package var accessTokenLifetime = 300
    /// Raises the limits of one login: a test sends more requests in a second than an app in a day.
    package var limits = ["session": "1000000/1s", "user": "1000000/1s", "device": "1000000/1s"]
    /// Who may say where a request comes from.
    package var trustedProxies: [String] = []

    /// The socket of a signer, which has the keys; `nil`: the broker has them.
    package var signer: String?

    /// Database connections beside those for exchanges and refreshes; `nil`: the default number.
    package var pool: Int?

    /// Ports of the two listeners, which the environment of a broker may still change.
    package var listen: (public: UInt16, internal: UInt16)?

    /// Files in PEM. Without them it speaks in the clear.
    package var tls: (certificate: String, key: String)?

    package init(issuer: String, providers: [Provider]) {
        self.issuer = issuer
        self.providers = providers
    }

    /// - Parameters:
    ///   - database: Its address, without the password.
    ///   - directory: Where everything else lies.
    func yaml(database: String, directory: String) -> String {
        """
        issuer: \(issuer)
        development: true
        database:
          url: "\(database)"
          password_file: "\(directory)/database-password"
          state_directory: "\(directory)/state"
        \(pool.map { "  pool: \($0)" } ?? "")
        keys: { \(signer.map { "signer: { socket: \($0) }" } ?? "directory: \"\(directory)/keys\"") }
        identity_providers:
        \(providers.enumerated().map { $1.yaml(keySet: "\(directory)/key-set.json", place: $0) }.joined(separator: "\n"))
        public:
        \(listen.map { "  listen: \"127.0.0.1:\($0.public)\"" } ?? "")
          trusted_proxies: [\(trustedProxies.joined(separator: ", "))]
        \(tls.map { "  tls: { certificate: \($0.certificate), key: \($0.key) }" } ?? "")
        \(listen.map { "internal: { listen: \"127.0.0.1:\($0.internal)\" }" } ?? "")
        limits: { \(limits.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")) }
        tokens: { access: \(accessTokenLifetime)s, unbound_refresh_grace: \(unboundRefreshGrace)s }
        log: { level: info, format: json }

        """
    }
}
