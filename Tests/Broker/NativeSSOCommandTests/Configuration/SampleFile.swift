@testable import native_sso

/// A valid configuration, and ways to break it.
enum SampleFile {
    /// Only the required keys.
    static let minimal = """
        issuer: https://sso.example.com
        database:
          url: postgresql://broker@%2Frun%2Fpostgresql/native_sso
        keys:
          directory: /var/lib/native-sso/keys
        identity_providers:
          - issuer: https://idp.example.com
            profiles: [device-secret]
            algorithms: [RS256]

        """

    /// - Parameter old: Must occur in the minimal file.
    static func replacing(_ old: String, with new: String) -> String {
        precondition(minimal.contains(old), "the minimal file has no \(old)")
        return minimal.replacing(old, with: new)
    }

    static func adding(_ lines: String) -> String { minimal + lines + "\n" }

    static func read(
        _ yaml: String, _ environment: [String: String] = [:]
    ) throws(ConfigurationError) -> Configuration {
        try ConfigurationReader.read(yaml: yaml, file: "test.yaml", environment: environment).configuration
    }

    /// The lines that an operator would see; empty for a valid configuration.
    static func problems(_ yaml: String, _ environment: [String: String] = [:]) -> [String] {
        do throws(ConfigurationError) {
            _ = try ConfigurationReader.read(yaml: yaml, file: "test.yaml", environment: environment)
            return []
        } catch {
            return error.problems.map { $0.line(file: error.file) }
        }
    }

    /// One of two warnings about the minimal file.
    static let unnamedProxy =
        "test.yaml: warning: public.trusted_proxies: is not given, so that no limit by address applies: behind a proxy on "
        + "this host all requests come from it; name it, such as [127.0.0.1], or write [] if there is none"

    /// The other one.
    static let beginsNoSession =
        "test.yaml:6: warning: identity_providers: none of them begins sessions; write admit_on_first_sight: true (for "
        + "Native SSO), enrolment: exchange or code_relay: {}, unless native-sso session register or the SQL function "
        + "register_session makes every session"

    /// Without ``beginsNoSession``.
    static func warnings(_ yaml: String) throws -> [String] { try allWarnings(yaml).filter { $0 != beginsNoSession } }

    static func allWarnings(_ yaml: String) throws -> [String] {
        try ConfigurationReader.read(yaml: yaml, file: "test.yaml", environment: [:]).warnings
            .map { $0.line(file: "test.yaml", isWarning: true) }
    }
}
