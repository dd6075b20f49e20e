public import BrokerTesting
import Foundation
import JOSE
import StrictCoding

extension Installation {
    /// Makes a secret for a client, by command.
    public func rotateSecret(of client: String) async throws -> String {
        let output = try await command("client", "secret", "rotate", client, "--json")
        guard let secret = (try JSONReader.parse(Array(output.utf8))).object?.string("client_secret") else {
            throw CommandFailed(description: "client secret rotate showed no secret")
        }
        return secret
    }

    /// Registers the public part of a client's key, by command.
    public func addKey(_ key: TestKey, of client: String) async throws {
        var json = JSONWriter()
        json.value(.object(key.publicKey.json))
        let file = directory.appending(path: "\(client).jwk")
        try Data(json.bytes).write(to: file)
        try await command("client", "key", "add", client, "--file", file.path)
    }
}
