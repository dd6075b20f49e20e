import ArgumentParser
import Glibc
import IdentityProvider
import JOSE
import NativeSSO
import StrictCoding

struct ConfigInitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Write the smallest configuration for one identity provider.",
        discussion: """
            Asks the identity provider for its discovery document and its key set, and says what it found. Writes the file \
            of --config, and never replaces one.
            """)

    @Option(help: "The broker's own issuer: the URL that apps reach.") var issuer: Issuer
    @Option(help: "The issuer of the identity provider, as in `iss` of its id_tokens.") var idp: Issuer

    @Option(help: ArgumentHelp("The database, without a password.", valueName: "url"))
    var database = "postgresql://native-sso@%2Frun%2Fpostgresql/native_sso"

    @Option(help: ArgumentHelp("The directory of the key files.", valueName: "path"))
    var keys = "/var/lib/native-sso/keys"

    @Option(
        help: ArgumentHelp("Certificate authorities of the identity provider, if not the system's.", valueName: "pem"))
    var caFile: String?

    @Flag(help: "For a laptop: allow http and IP addresses, on loopback only.") var development = false
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        guard access(options.config, F_OK) != 0 else { throw NewFile.exists(options.config) }
        let url: ProviderURL
        let authorities: CertificateAuthorities?
        do throws(ValueDefect) {
            _ = try IssuerURL.parse(idp.string, isDevelopment: development)
            url = try ProviderURL(idp.discoveryURL, isDevelopment: development)
        } catch {
            throw CommandFailure.usage("--idp: \(error.message)")
        }
        do throws(ValueDefect) {
            authorities = try caFile.map { path throws(ValueDefect) in
                try Configuration.IdentityProvider.authorities(path)
            }
        } catch {
            throw CommandFailure.usage("--ca-file: \(error.message)")
        }
        let found = try await discover(url, authorities)
        let text = yaml(found)
        // The rules for what was given here are those of the file.
        do throws(ConfigurationError) {
            _ = try ConfigurationReader.read(yaml: text, file: options.config, environment: [:])
        } catch {
            throw Self.failure(error)
        }
        try NewFile.write(text, to: options.config)
        let record: Record = [
            "file": .text(options.config), "discovery": .text(url.string),
            "algorithms": .list(found.algorithms.map(\.rawValue)), "other_algorithms": .list(found.otherAlgorithms),
            "keys": .number(Int64(found.keys.keys.count)), "native_sso": .flag(found.hasNativeSSO),
            "sid": .flag(found.namesSessions), "backchannel_logout": .flag(found.sendsLogoutTokens),
            "end_session_endpoint": Cell(found.endSessionEndpoint),
        ]
        try options.output.show(record)
        options.output.warn(remarks(found))
    }

    /// Names the options that were wrong, not the lines of a file that does not exist.
    private static func failure(_ error: ConfigurationError) -> CommandFailure {
        let options = ["issuer": "--issuer", "database.url": "--database", "keys.directory": "--keys"]
        let named = error.problems.compactMap { problem in
            options[problem.place.key].map { "\($0): \(problem.message)" }
        }
        return named.count == error.problems.count ? .usage(named.joined(separator: "; ")) : .configuration(error)
    }

    private func discover(
        _ url: ProviderURL, _ authorities: CertificateAuthorities?
    ) async throws -> DiscoveredProvider {
        let documents = DocumentClient(authorities: authorities)
        let result: Result<DiscoveredProvider, KeySetFetchError>
        do throws(KeySetFetchError) {
            result = .success(
                try await DiscoveredProvider.fetch(idp, at: url, hosts: nil, isDevelopment: development, documents))
        } catch {
            result = .failure(error)
        }
        try? await documents.shutdown()
        switch result {
        case .success(let found) where found.algorithms.isEmpty:
            throw CommandFailure.refused(
                "\(idp) signs id_tokens with \(found.otherAlgorithms.joined(separator: ", ")) only, which the broker does "
                    + "not accept; configure RS256 or ES256 there")
        case .success(let found): return found
        case .failure(.metadata(.issuerMismatch)):
            throw CommandFailure.refused(
                "\(url) is the document of another issuer; give --idp octet by octet as the document's issuer, also a "
                    + "slash at its end")
        case .failure(let error):
            throw CommandFailure.infrastructure("\(url): \(error)")
        }
    }

    private func yaml(_ found: DiscoveredProvider) -> String {
        let quoted = RegistryYAML.quoted
        var lines = [
            "# Every key: native-sso config schema, and configure.md of the guide.",
            "issuer: \(quoted(issuer.string))",
        ]
        if development {
            lines.append("development: true")
        } else {
            lines += [
                "public:", "  listen: \"127.0.0.1:8080\"",
                "  trusted_proxies: [\"127.0.0.1\"]  # the proxy that terminates TLS",
            ]
        }
        lines += [
            "database: { url: \(quoted(database)) }", "keys: { directory: \(quoted(keys)) }", "identity_providers:",
            "  - issuer: \(quoted(idp.string))", "    profiles: [device-secret]",
            "    algorithms: [\(found.algorithms.map(\.rawValue).joined(separator: ", "))]",
        ]
        if let host = found.foreignKeySetHost { lines.append("    jwks_hosts: [\(quoted(host))]") }
        if let caFile { lines.append("    ca_file: \(quoted(caFile))") }
        lines.append("    \(found.hasNativeSSO ? "admit_on_first_sight: true" : "enrolment: exchange")")
        return lines.joined(separator: "\n") + "\n"
    }

    private func remarks(_ found: DiscoveredProvider) -> [String] {
        var remarks: [String] = []
        if !found.hasNativeSSO {
            remarks.append("It says nothing of Native SSO, so apps enrol their logins here: enrolment: exchange.")
        }
        if !found.namesSessions {
            remarks.append("It does not say that its id_tokens have sid: a logout there ends all sessions of the user.")
        }
        if !found.sendsLogoutTokens {
            remarks.append(
                "It sends no back-channel logout: sessions end by backchannel.revoke, or native-sso session end.")
        }
        let file = options.config.hasSameOctets(as: GlobalOptions.standardFile) ? "" : " --config \(options.config)"
        return remarks + [
            "Next: native-sso\(file) config check; then migrate up, as the owner of the database, and key generate.",
            "Register the app that logs in with client add --self-exchange and group member add --role both: it exchanges "
                + "right after the login, so that every app holds the broker's tokens.",
        ]
    }
}
