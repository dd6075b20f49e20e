/// The broker's configuration file, as text.
struct BrokerConfiguration {
    let ports: Ports
    let layout: Layout
    let issuer: String
    let databaseURL: String
    let identityProvider: String
    let profiles: [ProfileOption]
    let accessTokenLifetime: Int

    var yaml: String {
        """
        # Written by native-sso-dev. For development only.
        development: true
        issuer: \(issuer)
        public: { listen: "127.0.0.1:\(ports.brokerPublic)" }
        internal: { listen: "127.0.0.1:\(ports.brokerInternal)" }
        database:
          url: "\(databaseURL)"
          password_file: "\(layout.databasePassword)"
        keys: { directory: "\(layout.brokerKeys)" }
        identity_providers:
          - issuer: \(identityProvider)
            profiles: [\(profiles.map(\.rawValue).joined(separator: ", "))]
            algorithms: [ES256, RS256]
            admit_on_first_sight: true
            enrolment: exchange
            code_relay: {}
        tokens: { access: \(accessTokenLifetime)s }

        """
    }
}
