/// What lies where in the working directory.
struct Layout: Sendable {
    let directory: String

    var cluster: String { "\(directory)/postgresql" }

    var identityProvider: String { "\(directory)/identity-provider" }
    var identityProviderConfiguration: String { "\(identityProvider)/configuration.json" }
    var signingKey: String { "\(identityProvider)/signing-key.pem" }
    var plainProviderConfiguration: String { "\(identityProvider)/plain-configuration.json" }
    var plainSigningKey: String { "\(identityProvider)/plain-signing-key.pem" }
    /// Of both.
    var users: String { "\(identityProvider)/users.json" }

    var broker: String { "\(directory)/broker" }
    /// For `serve`: connects as the service, which may do little.
    var brokerConfiguration: String { "\(broker)/native-sso.yaml" }
    /// For everything else: connects as the cluster's owner.
    var administrationConfiguration: String { "\(broker)/administration.yaml" }
    var databasePassword: String { "\(broker)/database-password" }
    /// What the server of the web app proves itself with.
    var webAppSecret: String { "\(broker)/\(Self.webAppSecret)" }
    static let webAppSecret = "web-app-secret"

    /// What the apps' keychains hold.
    var device: String { "\(directory)/device" }

    var logs: String { "\(directory)/logs" }
    func log(_ program: String) -> String { "\(logs)/\(program).log" }
}
