import ArgumentParser
import AsyncHTTPClient
import DevelopmentIdP
import Foundation
import Hummingbird
import JOSE
import Logging
import NIOCore
import NIOHTTP1
import UnixSignals

struct IdentityProviderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "idp", abstract: "Run the development identity provider alone.",
        discussion: """
            Writes a line to standard output when it accepts connections. SIGHUP makes it sign with a new key; the older \
            ones stay published.
            """)

    @Option(help: "Its configuration, a JSON file.")
    var configuration: String

    @Option(help: "Its signing key, a PEM file; made if it is not there.")
    var signingKey: String

    @Option(help: "Who can log in, a JSON file; made if it is not there.")
    var users: String

    @Option(
        help: "What a new key is for, and an existing one must be for: ES256 or RS256.",
        transform: { name in
            guard let algorithm = SigningAlgorithm(rawValue: name) else { throw ValidationError("ES256 or RS256") }
            return algorithm
        })
    var algorithm = SigningAlgorithm.es256

    func run() async throws {
        let configuration = try ProviderConfiguration(file: configuration)
        let signingKeys = try SigningKeys(file: signingKey, algorithm: algorithm)
        let logger = Logger(label: "identity-provider", factory: StreamLogHandler.standardError(label:))
        let logout = BackChannelLogout(
            configuration, signingKeys: signingKeys, logger: logger, now: { Int64(time(nil)) }, deliver: Self.deliver)
        let provider = DevelopmentIdentityProvider(
            configuration, users: try UserDirectory(file: users), signingKeys: signingKeys,
            sessionEndListeners: [logout], logger: logger)
        StandardError.write("\(configuration.issuer): \(DevelopmentIdentityProvider.warning)")
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let rotation = Task {
            for await _ in hangups {
                do {
                    try signingKeys.rotate()
                    logger.info("a new key signs", metadata: ["kid": "\(signingKeys.current.publicKey.keyID ?? "")"])
                } catch {
                    logger.error("the signing key could not be replaced: \(error)")
                }
            }
        }
        defer { rotation.cancel() }
        try await provider.application { _ in StandardOutput.write(DevelopmentEnvironment.readyLine) }.runService()
    }

    private static func deliver(_ address: String, _ form: [UInt8]) async throws -> Int {
        var request = HTTPClientRequest(url: address)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        request.body = .bytes(ByteBuffer(bytes: form))
        return Int(try await PlainHTTP.client.execute(request, timeout: .seconds(10)).status.code)
    }
}
