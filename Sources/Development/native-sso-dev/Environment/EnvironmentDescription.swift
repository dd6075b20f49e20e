import BrokerHarness
import StrictCoding

/// Where everything is: what `up` prints, for people and programs. Holds no secret, only the paths of files that do.
struct EnvironmentDescription: Sendable {
    let layout: Layout
    let ports: Ports
    let brokerProgram: String
    let clusterPasswordFile: String
    /// Of the service, and of the cluster's owner.
    let databaseURL: String
    let administrationURL: String
    let profiles: [ProfileOption]
    let processes: [String: Int32]

    var identityProvider: String { "http://127.0.0.1:\(ports.identityProvider)" }
    var plainProvider: String { "http://127.0.0.1:\(ports.plainProvider)" }
    var broker: String { "http://127.0.0.1:\(ports.brokerPublic)" }
    var tokenEndpoint: String { broker + "/token" }
    var brokerInternal: String { "http://127.0.0.1:\(ports.brokerInternal)" }
    var page: String { "http://127.0.0.1:\(ports.page)/" }
    var serverA: String { "http://127.0.0.1:\(ports.serverA)" }
    var serverB: String { "http://127.0.0.1:\(ports.serverB)" }

    /// One line.
    var json: String {
        var json = JSONWriter()
        json.object { json in
            json.member("ready", true)
            json.member("page", page)
            json.member("directory", layout.directory)
            json.member("profiles", profiles.map(\.rawValue))
            json.member(
                "identity_provider",
                object: { json in
                    json.member("issuer", identityProvider)
                    json.member("configuration", layout.identityProviderConfiguration)
                    json.member("signing_key", layout.signingKey)
                    json.member("users", layout.users)
                    process("identity-provider", &json)
                })
            json.member(
                "plain_identity_provider",
                object: { json in
                    json.member("issuer", plainProvider)
                    json.member("configuration", layout.plainProviderConfiguration)
                    json.member("signing_key", layout.plainSigningKey)
                    process("plain-identity-provider", &json)
                })
            json.member(
                "broker",
                object: { json in
                    json.member("issuer", broker)
                    json.member("token_endpoint", tokenEndpoint)
                    json.member("internal", brokerInternal)
                    json.member("program", brokerProgram)
                    json.member("configuration", layout.brokerConfiguration)
                    json.member("administration_configuration", layout.administrationConfiguration)
                    json.member("administration_log", layout.log("administration"))
                    process("broker", &json)
                })
            json.member(
                "database",
                object: { json in
                    json.member("url", databaseURL)
                    json.member("administration_url", administrationURL)
                    json.member("password_file", layout.databasePassword)
                    json.member("pgpass_file", clusterPasswordFile)
                    json.member("log", layout.cluster + "/log")
                })
            json.member(
                "servers",
                array: { json in
                    for (name, address, api) in [
                        ("server-a", serverA, SampleAPI.a), ("server-b", serverB, SampleAPI.b),
                    ] {
                        json.object { json in
                            json.member("name", name)
                            json.member("address", address)
                            json.member("audience", api.audience)
                            json.member("scope", api.scope)
                            json.member("path", api.path)
                            process(name, &json)
                        }
                    }
                })
            json.member("group", SampleApp.group)
            json.member(
                "clients",
                array: { json in
                    for app in SampleApp.all {
                        json.object { json in
                            json.member("client_id", app.clientID)
                            json.member("redirect_uri", app.redirectURI)
                            json.member("shares_logins", app.sharesLogins)
                        }
                    }
                })
            json.member(
                "web_app",
                object: { json in
                    json.member("client_id", SampleApp.web.clientID)
                    json.member("origin", SampleApp.webOrigin)
                    json.member("secret_file", layout.webAppSecret)
                })
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Runs the broker's command line as its operator.
    func administer(_ arguments: [String]) async throws -> ManagedProcess.Outcome {
        try await ManagedProcess.run(brokerProgram, ["--config", layout.administrationConfiguration] + arguments)
    }

    /// What `native-sso explain` says of one of the broker's answers; nil if the audit has nothing of it.
    func explanation(of requestID: String) async throws -> String? {
        let outcome = try await administer(["--json", "explain", requestID])
        let events = try? JSONReader.parse(Array(outcome.output.utf8)).object?.array("events")
        return events?.last?.object?.string("sentence")
    }

    private func process(_ name: String, _ json: inout JSONWriter) {
        if let pid = processes[name] { json.member("pid", Int64(pid)) }
        json.member("log", layout.log(name))
    }
}
