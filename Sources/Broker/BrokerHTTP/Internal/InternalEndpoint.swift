public import Logging
import NIOHTTP1
public import NativeSSO
import OAuthWire
import StrictCoding

/// The internal listener: what operators, monitors and resource servers ask, where query strings are ignored, and what the
/// identity providers tell.
///
/// Whatever is not answered with what was asked for has an `X-Request-Id` and a line in the log: a logout that did not even
/// reach its path must not be lost without a trace.
public struct InternalEndpoint: Sendable {
    private let readiness: Readiness
    private let keys: any PublishedKeys
    private let metadata: [UInt8]
    private let metrics: BrokerMetrics
    private let logout: LogoutEndpoint
    private let journal: InternalJournal
    private let clock: any WallClock

    public init(
        readiness: Readiness, keys: any PublishedKeys, metadata: ServerMetadata, metrics: BrokerMetrics,
        logout: LogoutEndpoint, clock: any WallClock, logger: Logger
    ) {
        self.readiness = readiness
        self.keys = keys
        self.metadata = metadata.json
        self.metrics = metrics
        self.logout = logout
        self.clock = clock
        journal = InternalJournal(metrics: metrics, logger: logger)
    }
}

extension InternalEndpoint: Responder {
    func answer(_ arrival: Arrival) async -> HTTPAnswer {
        switch arrival {
        case .fault(.method, from: _): refused(.wire(.method), Self.methodNotAllowed("GET, POST"))
        case .fault(let fault, from: _): refused(.wire(fault))
        case .request(let request):
            if request.isFor(LogoutEndpoint.path) {
                await logout.answer(request)
            } else if let route = Route.allCases.first(where: { request.isFor($0.rawValue) }) {
                request.method == .GET
                    ? await answer(route) : refused(.request(.method), Self.methodNotAllowed("GET"))
            } else {
                refused(.request(.unknownPath))
            }
        }
    }

    /// - Parameter answer: Where it is another than on the public listener.
    private func refused(_ refusal: Refusal, _ answer: RefusalAnswer? = nil) -> HTTPAnswer {
        let record = RequestRecord.new(clock)
        var answer = HTTPAnswer(answer ?? refusal.answer)
        answer.headers.append(("X-Request-Id", record.requestID.description))
        journal.refused(record, refusal, status: answer.status)
        return answer
    }

    private enum Route: String, CaseIterable {
        case liveness = "/livez"
        case readiness = "/readyz"
        case metrics = "/metrics"
        case keySet = "/.well-known/jwks.json"
        case authorizationServer = "/.well-known/oauth-authorization-server"
        case openIDConfiguration = "/.well-known/openid-configuration"
    }

    private func answer(_ route: Route) async -> HTTPAnswer {
        switch route {
        case .liveness: HTTPAnswer(status: .ok, body: Array(#"{"status":"live"}"#.utf8))
        case .readiness: HTTPAnswer(await readiness.report())
        case .metrics:
            HTTPAnswer(status: .ok, contentType: PrometheusText.contentType, body: Array(metrics.text.utf8))
        case .keySet: await keySet()
        case .authorizationServer, .openIDConfiguration:
            HTTPAnswer(status: .ok, cacheControl: cacheControl, body: metadata)
        }
    }

    private func keySet() async -> HTTPAnswer {
        do throws(PortError) {
            return HTTPAnswer(status: .ok, cacheControl: cacheControl, body: try await keys.keySet())
        } catch {
            switch error {
            case .outage: return .unavailable
            case .broken: return .failed
            }
        }
    }

    private var cacheControl: String { "public, max-age=\(keys.maximumAge.count)" }

    private static func methodNotAllowed(_ allowed: String) -> RefusalAnswer {
        .invalidRequest("The method is not allowed here.", .methodNotAllowed, headers: [("Allow", allowed)])
    }
}

extension HTTPAnswer {
    fileprivate init(_ report: Readiness.Report) {
        var json = JSONWriter()
        json.object { json in
            json.member("status", report.isReady ? "ready" : "unready")
            json.member(
                "checks",
                array: { json in
                    for result in report.results {
                        json.object { json in
                            json.member("name", result.name)
                            json.member("status", result.problem == nil ? "ok" : "failed")
                            if let problem = result.problem { json.member("reason", problem.description) }
                        }
                    }
                })
        }
        self.init(status: report.isReady ? .ok : .serviceUnavailable, body: json.bytes)
    }
}
