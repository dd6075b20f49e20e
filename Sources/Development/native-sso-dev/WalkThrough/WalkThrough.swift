import AsyncHTTPClient
import NativeSSOAsyncHTTPClient
import NativeSSOClient
import OAuthWire
import StrictCoding

/// One walk through a profile, over HTTP, with real processes: from the first login to the end of its session.
struct WalkThrough: Sendable {
    let description: EnvironmentDescription
    let profile: DemonstratedProfile
    let device: Device
    let narrator: Narrator

    init(
        description: EnvironmentDescription, profile: DemonstratedProfile,
        write: @escaping @Sendable (String) -> Void = StandardOutput.write
    ) throws {
        self.description = description
        self.profile = profile
        device = try Device(directory: "\(description.layout.device)/\(profile)")
        narrator = Narrator(write: write)
    }

    func run() async throws {
        narrator.title("Native SSO, \(profile.title)")
        let login = try await logIn()
        let (one, two) = try await exchange()
        guard profile != .transitionalDeviceSecret else { return }
        try await callServers(one, two)
        guard !profile.isEnrolled else { return }
        let restarted = try await restart(two)
        try await expire(restarted)
        try await refuse(login)
        try await logOut(login, one, restarted)
    }

    /// Sends to any token endpoint, and tells of it.
    var transport: any HTTPTransport {
        ClientTransport { [narrator] in narrator.tokenRequest($0, $1) }
    }

    func start(_ app: SampleApp) throws -> DemonstrationApp {
        try DemonstrationApp(
            app, on: device, broker: description.tokenEndpoint,
            issuer: profile.isEnrolled ? description.broker : description.identityProvider,
            identification: profile.identification, transport: transport)
    }

    /// The refusal that `work` ends in.
    func refusal<Value: Sendable>(
        _ expectation: String, _ work: () async throws(ClientError) -> Value
    ) async throws(StepFailure) -> TokenRefusal {
        do throws(ClientError) {
            _ = try await work()
        } catch {
            if case .refused(let refusal) = error { return refusal }
            throw StepFailure("\(expectation); instead: \(error)")
        }
        throw StepFailure("\(expectation), but there was none")
    }
}

/// The client library's requests over async-http-client.
struct ClientTransport: HTTPTransport {
    /// Sees each request with its answer.
    let watch: @Sendable (TransportRequest, TransportResponse) -> Void

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let response = try await AsyncHTTPClientTransport(PlainHTTP.client, timeout: .seconds(10)).send(request)
        watch(request, response)
        return response
    }
}

/// The HTTP client of the apps. It follows no redirects, because a token endpoint never sends one.
enum PlainHTTP {
    static let client = HTTPClient(
        eventLoopGroup: HTTPClient.defaultEventLoopGroup,
        configuration: configuration)

    private static var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        // Everything is on this machine, or not there.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}
