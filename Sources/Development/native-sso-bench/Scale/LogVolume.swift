/// What was written into the write-ahead log, in octets.
struct LogVolume: Equatable {
    let total: Int64
    /// Of those, images of whole pages: the first change of a page after a checkpoint brings one.
    let pageImages: Int64

    struct Unreadable: Error, CustomStringConvertible {
        let output: String
        var description: String { "pg_waldump says nothing that is understood: \(output.suffix(400))" }
    }

    /// Between two positions, by the server's own `pg_waldump`.
    static func between(_ start: Int64, _ end: Int64, on cluster: BenchmarkCluster) async throws -> LogVolume {
        let program = "\(try await cluster.programs())/pg_waldump"
        let output = try Program.output(of: [
            program, "--stats", "-p", cluster.walDirectory, "-s", position(start), "-e",
            position(end),
        ])
        return try LogVolume(statistics: output)
    }

    /// Reads the line `Total  records  size [share]  size of page images [share]  both [share]`.
    init(statistics: String) throws {
        let line = statistics.split(separator: "\n").last { $0.hasPrefix("Total") }
        let numbers = (line ?? "").split(separator: " ").compactMap { Int64($0) }
        guard numbers.count == 4 else { throw Unreadable(output: statistics) }
        (total, pageImages) = (numbers[3], numbers[2])
    }

    private static func position(_ octets: Int64) -> String {
        String(octets >> 32, radix: 16) + "/" + String(octets & 0xffff_ffff, radix: 16)
    }
}
