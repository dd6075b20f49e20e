import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// How programs say that they answer.
enum Readiness {
    /// What the identity provider and the servers write to standard output, once.
    static let line = "ready"
}

/// Waits for `GET /readyz` of a broker.
struct BrokerReadiness {
    /// Of its internal listener.
    let address: String

    /// Throws if the process ends, or has not become ready within 30 seconds.
    func wait(for process: SupervisedProcess, log: String) async throws {
        let isReady = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                while !Task.isCancelled {
                    if await answers() { return true }
                    try await Task.sleep(for: .milliseconds(50))
                }
                return false
            }
            group.addTask {
                while await process.nextLine() != nil {}
                return false
            }
            group.addTask {
                try await Task.sleep(for: .seconds(30))
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
        guard isReady else {
            await process.stop()
            throw ProcessFailure(name: process.name, status: await process.waitForEnd(), log: log)
        }
    }

    private func answers() async -> Bool {
        let request = HTTPClientRequest(url: address + "/readyz")
        guard let response = try? await PlainHTTP.client.execute(request, timeout: .seconds(2)) else { return false }
        return response.status == .ok
    }
}
