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

/// A phone, as far as apps share something on it.
struct Device: Sendable {
    let shared: FileKeychain
    private let directory: String

    init(directory: String) throws {
        self.directory = directory
        shared = try FileKeychain(directory: "\(directory)/shared")
    }

    func keychain(of app: SampleApp) throws -> FileKeychain {
        try FileKeychain(directory: "\(directory)/\(app.clientID)")
    }
}
