import ArgumentParser
import KeyModule
import NativeSSO
import Registry
import StrictCoding

struct KeyDoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Say of each key what protects it, what depends on it, and when it may go.",
        discussion: """
            For monitoring: the exit status is 3 if a use has no active key, if a key is suspended, or if this machine lacks a key. \
            It is also 3 if the keys belong to another user and cannot be judged. The counts are upper bounds: the \
            database does not record which key made a token.

            Run this command as the broker's user, or by native-sso-admin.
            """)

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let (configuration, provider) = try options.keyStore()
        let (rotation, standard) = try options.read(openingFiles: false) {
            (KeyRotation(reading: $0), $0.tokens().access)
        }
        let (rows, dependents) = try await options.administer { registry in
            let rows = try await registry.keys()
            let life = try await registry.longestAccessTokenLife(standard)
            var dependents: [String: KeyDependents] = [:]
            for key in rows.records {
                dependents[key.kid] = try await registry.dependents(of: key, accessTokenLife: life)
            }
            return (rows, dependents)
        }
        let keys = await KeySet(rows.records, of: configuration.replica, from: provider)
        var protections: [String: String] = [:]
        for key in rows.records {
            let isOthers = key.replica != nil && key.replica != configuration.replica
            protections[key.kid] =
                isOthers ? "at the replica \(key.replica ?? "")" : try? await provider.protection(of: key)
        }
        let table = Table("keys", rows.records) { key in
            let found = dependents[key.kid] ?? KeyDependents()
            return [
                "kid": .text(key.kid), "use": .text(key.use.rawValue), "algorithm": .text(key.algorithm.rawValue),
                "state": .text(key.state.rawValue), "protection": Cell(protections[key.kid]),
                "usable_here": .flag(protections[key.kid] != nil && !keys.problems.contains { $0.kid == key.kid }),
                "families": .number(found.families), "access_tokens": .number(found.accessTokens),
                "id_tokens": .number(found.idTokens), "devices": .number(found.devices),
                "may_go_at": Cell(rotation.lastUse(of: key)),
            ]
        }
        try options.output.show(Examination(keys: table))
        let problems = keys.complaints(about: rows)
        guard problems.isEmpty else { throw CommandFailure.infrastructure(problems.joined(separator: "\n")) }
    }

    /// The keys, and what holds for all of them.
    private struct Examination: ObjectResult {
        let keys: Table
        private var process: Record {
            ["memory_locked": .flag(ProcessHardening.locksSecrets), "fips": .flag(FIPSModule.isUsed)]
        }

        var lines: [String] { process.lines + [""] + keys.lines }

        func members(to json: inout JSONWriter) {
            process.members(to: &json)
            keys.members(to: &json)
        }
    }
}

extension KeySet {
    /// What keeps this machine from signing or verifying, as sentences.
    func complaints(about rows: SigningKeys) -> [String] {
        problems.map(\.description) + missing.map { "there is no usable active key for use \($0.rawValue)" }
            + rows.records.filter { $0.suspendedAt != nil && $0.state.maySign }.map {
                "the \($0.state.rawValue) \($0.use.rawValue) key \($0.kid) is suspended; "
                    + KeyRing.resumption(of: $0.kid)
            } + rows.unknown.keys.sorted().map { "key \($0) is of a kind that this version does not know" }
    }
}

extension Administration {
    /// - Parameter standard: The lifetime of access tokens in the configuration. A client may have a longer one.
    func longestAccessTokenLife(_ standard: Seconds) async throws(AdministrationError) -> Seconds {
        try await clients().compactMap(\.accessTokenLifetime).reduce(standard, max)
    }
}

extension KeyDependents {
    /// What is lost with the key.
    func words(for use: KeyUse) -> [String] {
        switch use {
        case .refreshToken:
            [
                "at most \(families.counted("live token family", plural: "live token families")) "
                    + "\(families == 1 ? "has" : "have") a refresh token of it"
            ]
        case .accessToken:
            [
                "in use: at most \(accessTokens.counted("access token")) of it, and \(idTokens.counted("id_token")) of "
                    + "enrolled logins"
            ]
        case .device: []
        }
    }
}
