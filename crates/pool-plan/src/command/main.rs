fn main(){ for f in std::env::args().skip(1){ println!("{f}"); let t=std::fs::read_to_string(&f).unwrap(); let p=pool_plan::csv::read(&t,Default::default()).unwrap(); pool_plan::probe(&p);} }
