import FoundationEssentials
package import NativeSSO
import NIOCore
import NIOPosix
import NIOSSL

/// The certificates that a server shows. For a warning before they expire: nothing is verified, and no request is sent.
package enum ServerCertificate {
    /// When the first of the server's certificates expires; `nil`: there is no TLS, or no answer in time.
    /// - Parameter timeout: For the connection, and again for the certificates: the call takes up to twice as long.
    package static func end(at url: ProviderURL, within timeout: Duration = .seconds(3)) async -> UnixTime? {
        guard let (host, port) = url.tlsServer else { return nil }
        let (ends, found) = AsyncStream.makeStream(of: UnixTime.self)
        var configuration = TLSConfiguration.makeClientConfiguration()
        // The callback replaces the verification. Without any, it would not be called.
        configuration.certificateVerification = .noHostnameVerification
        // The roots of the system are not needed, and reading them takes time.
        configuration.trustRoots = .certificates([])
        let isAddress = (try? SocketAddress(ipAddress: host, port: port)) != nil
        do {
            let context = try NIOSSLContext(configuration: configuration)
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(TimeAmount(timeout))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let handler = try NIOSSLClientHandler(
                            context: context, serverHostname: isAddress ? nil : host
                        ) { certificates, verified in
                            if let end = certificates.map(\.notValidAfter).min() {
                                found.yield(UnixTime(seconds: Int64(end)))
                            }
                            verified.succeed(NIOSSLVerificationResult.failed)
                        }
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                }
                .connect(host: host, port: port).get()
            channel.closeFuture.whenComplete { _ in found.finish() }
            channel.eventLoop.scheduleTask(in: TimeAmount(timeout)) { channel.close(promise: nil) }
            let end = await ends.first { _ in true }
            channel.close(promise: nil)
            return end
        } catch {
            return nil
        }
    }
}

extension ProviderURL {
    /// `nil`: without TLS.
    fileprivate var tlsServer: (host: String, port: Int)? {
        guard let parts = URLComponents(string: string), parts.scheme?.lowercased() == "https" else { return nil }
        return (host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host, parts.port ?? 443)
    }
}
