import ChildProcesses
import Foundation
import NativeSSOClient
import OAuthWire

/// An app on the device: its registration, its keychain, and what it holds in memory.
struct DemonstrationApp: Sendable {
    let app: SampleApp
    let endpoint: TokenEndpoint
    let tokens: AppTokens

    /// Starts the app. Its memory is empty; its keychain holds what an earlier start left there.
    init(
        _ app: SampleApp, on device: Device, broker: String, issuer: String,
        identification: TokenEndpoint.Identification,
        transport: any HTTPTransport
    ) throws {
        self.app = app
        endpoint = TokenEndpoint(
            address: broker, clientID: app.clientID, identification: identification, transport: transport)
        tokens = AppTokens(
            endpoint: endpoint, issuer: issuer, shared: device.shared, own: try device.keychain(of: app),
            now: { Int64(time(nil)) })
    }
}

/// A phone, as far as apps share something on it. Its keychains last as long as this value: their key is nowhere else.
struct Device: Sendable {
    let shared: EncryptedFileKeychain
    let directory: String
    private let key = (0..<32).map { _ in UInt8.random(in: .min ... .max) }

    init(directory: String) throws {
        self.directory = directory
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        shared = try EncryptedFileKeychain(path: "\(directory)/shared", key: key)
    }

    func keychain(of app: SampleApp) throws -> EncryptedFileKeychain {
        try EncryptedFileKeychain(path: "\(directory)/\(app.clientID)", key: key)
    }
}
