import DevelopmentIdP
import Foundation
import JOSE
import Testing

/// Key, users and configuration, each from a file.
@Suite final class FileTests {
    private let directory: String

    init() throws {
        directory = NSTemporaryDirectory() + "development-idp-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    @Test(arguments: SigningAlgorithm.allCases)
    func aKeyIsMadeOnceAndReadableByItsOwnerOnly(_ algorithm: SigningAlgorithm) throws {
        let path = directory + "/key.pem"
        let made = try SigningKey(file: path, algorithm: algorithm)
        let read = try SigningKey(file: path, algorithm: algorithm)
        #expect(made.publicKey == read.publicKey)
        #expect(made.publicKey.keyID?.utf8.count == 43)
        #expect(try mode(of: path) == 0o600)
        #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    }

    @Test func aKeyOfAnotherAlgorithmIsRefused() throws {
        let path = directory + "/key.pem"
        _ = try SigningKey(file: path, algorithm: .rs256)
        #expect(throws: ProviderError.unusableKey(path)) { try SigningKey(file: path, algorithm: .es256) }
    }

    @Test func usersAreWrittenOutWhereThereAreNone() throws {
        let path = directory + "/users.json"
        #expect(try UserDirectory(file: path).users.map(\.username) == ["alice", "bob", "carol", "dave"])
        #expect(try mode(of: path) == 0o600)
        #expect(
            try UserDirectory(file: path).users.map(\.subject) == [
                "248289761001", "248289761002", "248289761003", "248289761004",
            ])
        #expect(try UserDirectory(file: path).users.map { $0.secondFactor != nil } == [true, false, true, true])
    }

    @Test(arguments: [
        "{", "[]", "{}", #"{"users": {}}"#, #"{"users": [1]}"#, #"{"users": [], "groups": []}"#,
        #"{"users": [{"username": "eve"}]}"#, #"{"users": [], "users": []}"#,
        #"{"users": [{"username":"","password":"p","sub":"s","name":"n","email":"e"}]}"#,
        #"{"users": [{"username":"u","password":"p","sub":"s","name":"n","email":"e","totp_secret":"MFWGS"}]}"#,
        #"{"users": [{"username":"u","password":"p","sub":"s","name":"n","email":"e","always_uses_second_factor":true}]}"#,
    ])
    func anUnexpectedUsersFileIsRefused(_ text: String) throws {
        let path = try write("users.json", text)
        #expect { try UserDirectory(file: path) } throws: { error in
            if case ProviderError.malformedFile(path, reason: _) = error { true } else { false }
        }
    }

    @Test func aConfigurationFileSaysWhatItSays() throws {
        let path = try write(
            "idp.json",
            """
            {"port": 9000, "mode": "plain", "hash_mode": "full_sha256_hex", "lifetimes": {"id_token": 5},
             "clients": [{"client_id": "app-one", "redirect_uris": ["com.example.one:/cb"]},
                         {"client_id": "web", "client_secret": "s", "redirect_uris": ["https://web.example.test/cb"],
                          "requires_consent": true},
                         {"client_id": "app-two", "redirect_uris": ["myapp://callback"]}],
             "undotted_redirect_schemes": true,
             "resources": [{"audience": "https://api-a.example.test", "scope": "api:serverA"}]}
            """)
        let configuration = try ProviderConfiguration(file: path)
        #expect(configuration.issuer == "http://127.0.0.1:9000")
        #expect(configuration.mode == .plain && configuration.deviceSecretHash == .fullSHA256Hex)
        #expect(configuration.lifetimes.idToken == 5)
        #expect(configuration.lifetimes.code == 60)
        #expect(configuration.clients.map(\.id) == ["app-one", "web", "app-two"])
        #expect(configuration.clients.map { $0.secret == nil } == [true, false, true])
        #expect(configuration.clients.map(\.requiresConsent) == [false, true, false])
        #expect(configuration.resources.map(\.audience) == ["https://api-a.example.test"])
    }

    @Test(arguments: [
        #"{"clients": []}"#, #"{"port": 70000, "clients": []}"#, #"{"port": 1, "clients": [], "modus": "plain"}"#,
        #"{"port": 1, "clients": [], "mode": "Plain"}"#, #"{"port": 1, "clients": [], "hash_mode": "sha256"}"#,
        #"{"port": 1, "clients": [], "lifetimes": {"code": 0}}"#,
        #"{"port": 1, "clients": [{"client_id": "a", "redirect_uris": ["javascript:x"]}]}"#,
        #"{"port": 1, "clients": [{"client_id": "a", "redirect_uri": ["com.example:/x"]}]}"#,
        #"{"port": 1, "clients": [{"client_id": "a", "redirect_uris": ["myapp://callback"]}]}"#,
        #"{"port": 1, "clients": [], "resources": [{"audience": "a"}]}"#,
        #"{"port": 1, "clients": [], "undotted_redirect_schemes": 1}"#,
    ])
    func anUnexpectedConfigurationIsRefused(_ text: String) throws {
        let path = try write("idp.json", text)
        #expect { try ProviderConfiguration(file: path) } throws: { error in
            if case ProviderError.malformedFile(path, reason: _) = error { true } else { false }
        }
    }

    @Test(arguments: ["0.0.0.0", "192.0.2.1", "localhost", "::"])
    func onlyLoopbackIsListenedOn(_ host: String) {
        #expect(throws: ProviderError.notLoopback(host)) {
            try ProviderConfiguration(host: host, port: 9000, clients: [])
        }
    }

    private func write(_ name: String, _ text: String) throws -> String {
        let path = directory + "/" + name
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func mode(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
}
