/// A quantity that each round of a figure has. The raw value is its name in the report.
enum Metric: String, CaseIterable, Sendable {
    case perSecond = "per_second"
    /// Throughput to that of the reference in the same round.
    case throughputRatio = "throughput_to_reference"
    case p50 = "latency_p50_ms"
    case p99 = "latency_p99_ms"
    case worst = "latency_max_ms"
    /// To that of the same clients before the attackers came, or before the logout, in the same round.
    case p50Ratio = "latency_p50_to_alone"
    case p99Ratio = "latency_p99_to_alone"
    /// Processor time for each request or operation.
    case brokerCPU = "broker_cpu_us"
    case postgresqlCPU = "postgresql_cpu_us"
    case clientCPU = "client_cpu_us"
    case signerCPU = "signer_cpu_us"
    /// What all processes together need more for a request than with key files, in the same round.
    case signerCost = "cpu_us_more_than_files"
    case generatorCPU = "generator_cpu_us"
    /// Of one request, by `openssl speed` or swift-crypto in the same round; of one signature, by the loop of C.
    case cryptography = "raw_cryptography_us"
    case cryptographyRatio = "broker_cpu_to_raw_cryptography"
    /// The same for the verification of an access token by `TokenVerifier`.
    case verifierRatio = "verifier_cpu_to_raw_cryptography"
    case commits = "commits_per_operation"
    case walOctets = "wal_octets"
    /// Of those, the images of whole pages: each page is logged once as it is, when it is first changed after a checkpoint.
    case pageImages = "wal_page_image_octets"
    /// What a proof costs: broker and PostgreSQL to the same exchange without one, in the same round.
    case proofRatio = "cpu_to_bearer"
    /// What a request costs to one at the registry with the fewest sessions, in the same round: broker and PostgreSQL together,
    /// and PostgreSQL alone.
    case latencyRatio = "latency_p50_to_fewest"
    case cpuRatio = "cpu_to_fewest"
    case postgresqlRatio = "postgresql_cpu_to_fewest"
    case readyAfter = "ready_after_ms"
    /// From the request of a logout to its answer, and until another broker refused the last session that was watched.
    case logoutAnswered = "logout_answered_ms"
    case lastDead = "last_session_dead_ms"
    /// From the death of the primary to the end of the standby's promotion, and to the first exchange after it.
    case promotedAfter = "promoted_after_ms"
    case grantedAfter = "granted_after_ms"
    /// From the start of a command to its end.
    case commandTook = "command_ms"
    case residentKiB = "resident_kib"
    /// Of that, what is not a page of a file: those belong to the program's file, and the system can drop them.
    case ownKiB = "own_kib"
    /// How resident memory grows, in MiB an hour: the regression line through the second half of the samples.
    case residentGrowth = "resident_mib_per_hour"
    /// Octets of session and grant tables, with indexes, for each row: at the end to after the first quarter.
    case tableGrowth = "table_octets_per_row_to_start"
    /// Connections of others than the load, at its end.
    case connections = "open_connections"
    /// What each of them adds to resident memory.
    case kibibytesEach = "kib_each"
    /// How many processors broker and PostgreSQL kept busy.
    case brokerProcessors = "broker_processors"
    case postgresqlProcessors = "postgresql_processors"
    /// Of one kind of request, or how much longer one takes than another, the slowest twentieth of all left out.
    case meanMicroseconds = "latency_mean_us"
    /// Welch's t of two kinds: of all samples, and without the slowest twentieth.
    case welch = "welch_t"
    case quietWelch = "welch_t_without_slowest"
    /// Processors that others kept busy meanwhile: noise.
    case elsewhere = "processors_busy_elsewhere"

    /// How it is headed in a table.
    var title: String {
        switch self {
        case .perSecond: "per s"
        case .throughputRatio: "× reference"
        case .p50: "p50 ms"
        case .p99: "p99 ms"
        case .worst: "max ms"
        case .p50Ratio: "p50 × alone"
        case .p99Ratio: "p99 × alone"
        case .brokerCPU: "broker µs"
        case .postgresqlCPU: "PostgreSQL µs"
        case .clientCPU: "client µs"
        case .signerCPU: "signer µs"
        case .signerCost: "µs more"
        case .generatorCPU: "generator µs"
        case .cryptography: "crypto µs"
        case .cryptographyRatio: "broker/crypto"
        case .verifierRatio: "verifier/crypto"
        case .commits: "commits"
        case .walOctets: "WAL octets"
        case .pageImages: "of page images"
        case .proofRatio: "CPU × bearer"
        case .latencyRatio: "p50 × fewest"
        case .cpuRatio: "CPU × fewest"
        case .postgresqlRatio: "PostgreSQL × fewest"
        case .readyAfter: "ready ms"
        case .logoutAnswered: "answered ms"
        case .lastDead: "last dead ms"
        case .promotedAfter: "promoted ms"
        case .grantedAfter: "granted ms"
        case .commandTook: "command ms"
        case .residentKiB: "resident KiB"
        case .ownKiB: "own KiB"
        case .residentGrowth: "MiB an hour"
        case .tableGrowth: "tables × start"
        case .connections: "connections"
        case .kibibytesEach: "KiB each"
        case .brokerProcessors: "broker CPUs"
        case .postgresqlProcessors: "PostgreSQL CPUs"
        case .meanMicroseconds: "mean µs"
        case .welch: "t"
        case .quietWelch: "t, 95 %"
        case .elsewhere: "others' CPUs"
        }
    }

    /// Digits behind the point in a table.
    var digits: Int {
        switch self {
        case .perSecond, .walOctets, .pageImages, .residentKiB, .ownKiB, .readyAfter, .connections, .logoutAnswered,
            .lastDead, .promotedAfter, .grantedAfter, .commandTook:
            0
        case .brokerCPU, .postgresqlCPU, .clientCPU, .signerCPU, .signerCost, .generatorCPU, .cryptography: 1
        default: 2
        }
    }
}
